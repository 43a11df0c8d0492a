"""Commands that tools don't accept, and those that only look so."""

from __future__ import annotations

import time

import pytest

from knowledge_rag.drift import commands
from knowledge_rag.drift.commands import check_commands
from knowledge_rag.drift.findings import Kind
from knowledge_rag.drift.page import read_page


def found(text: str) -> list[tuple[int, int, str, str]]:
    findings = sorted(check_commands(read_page("a.md", text)))
    return [(each.line, each.column, each.subject, each.fix) for each in findings]


def block(*lines: str, language: str = "bash") -> str:
    return "\n".join([f"```{language}", *lines, "```", ""])


@pytest.mark.parametrize(
    ("command", "subject", "fix"),
    [
        ("aws rdz describe-db-clusters", "aws rdz", ""),
        ("aws rds describe-db-cluster", "aws rds describe-db-cluster", "describe-db-clusters"),
        ("aws --region x rds reboot-instance", "aws rds reboot-instance", "reboot-db-instance"),
        (
            "aws rds failover-db-cluster --db-cluster-identifier a --target-db-instances b",
            "aws rds failover-db-cluster --target-db-instances",
            "--target-db-instance-identifier",
        ),
        (
            "aws ec2 delete-network-acl-entry --network-acl-id acl-1 --rule-number 100",
            "aws ec2 delete-network-acl-entry --egress",
            "",
        ),
        ("aws ec2 wait instance-runing", "aws ec2 wait instance-runing", "instance-running"),
        ("aws s3 snc a b", "aws s3 snc", "sync"),
        ("aws s3 cp a b --recursiv3", "aws s3 cp --recursiv3", "--recursive"),
        ("aws rds stop-db-instance", "aws rds stop-db-instance --db-instance-identifier", ""),
        (
            "aws s3api put-bucket-acl --bucket b --acl privat",
            "aws s3api put-bucket-acl --acl privat",
            "private",
        ),
        ("aws ecr get-login --no-include-email", "aws ecr get-login", "aws ecr get-login-password"),
        ("kubectl gt pods", "kubectl gt", "get"),
        ("kubectl get pods --all-namespace", "kubectl get --all-namespace", "--all-namespaces"),
        ("kubectl -n a get pods -Z", "kubectl get -Z", ""),
        ("kubectl rollout restrat deployment/a", "kubectl rollout restrat", "restart"),
        (
            "kubectl drain node --delete-local-data",
            "kubectl drain --delete-local-data",
            "--delete-emptydir-data",
        ),
        ("helm upgrade a b --instal", "helm upgrade --instal", "--install"),
        ("helm init --wait", "helm init", ""),
        ("helm delete a --purge", "helm delete --purge", "helm uninstall"),
        ("helm pull a --plain-htp", "helm pull --plain-htp", "--plain-http"),
        ("docker compose resart a", "docker compose resart", "restart"),
        ("docker compose -f a.yml exce a sh", "docker compose exce", "exec"),
        ("docker buildx bild .", "docker buildx bild", "build"),
        ("docker rmi --volumes a", "docker rmi --volumes", ""),
        ("systemctl list-units --typ3 service", "systemctl list-units --typ3", "--type"),
        ("docker run --nam x image --any-option", "docker run --nam", "--name"),
        ("docker container list-all", "docker container list-all", ""),
        ("git checkuot main", "git checkuot", "checkout"),
        ("git commit --ammend", "git commit --ammend", "--amend"),
        ("terraform aply", "terraform aply", "apply"),
        ("terraform plan -chdir=x", "terraform plan -chdir", ""),
        ("terraform apply -auto-aprove", "terraform apply -auto-aprove", "-auto-approve"),
        ("systemctl restrt nginx", "systemctl restrt", "restart"),
        ("psql --hots=db -c 'select 1'", "psql --hots", "--host"),
        ("sudo -u root kubectl gett pods", "kubectl gett", "get"),
        ("kubectl exec pod -- psql --hots=x", "psql --hots", "--host"),
        ("X=$(kubectl gett pods) && echo $X", "kubectl gett", "get"),
        ("for n in a b; do kubectl cordn $n; done", "kubectl cordn", "cordon"),
    ],
)
def test_finds_what_a_tool_does_not_accept(command, subject, fix):
    assert [(each[2], each[3]) for each in found(block(command))] == [(subject, fix)]


@pytest.mark.parametrize(
    "command",
    [
        "aws ec2 describe-instances --instance-ids i-1 --query 'a[].b' --output text",
        "aws rds failover-db-cluster --db-cluster-identifier <cluster>",
        "aws rds failover-db-cluster $OPTIONS",
        "aws rds failover-db-cluster [options]",
        "aws rds failover-db-cluster ...",
        "aws rds failover-db-cluster --cli-input-json file://x.json",
        "aws {{ service }} describe-things --{{ option }} 1",
        "aws <service> describe-it --thing",
        "aws ec2 run-instances help",
        "aws logs tail /aws/lambda/x --follow",
        "aws eks update-kubeconfig --name x",
        "aws lambda invoke --function-name f --cli-binary-format raw-in-base64-out out.json",
        "aws ec2 modify-vpc-attribute --vpc-id v --no-enable-dns-support",
        "aws --profile p s3 ls s3://bucket --recursive",
        "aws ssm send-command --document-name D --output-s3-bucket-name type",
        "aws ec2 delete-network-acl-entry --network-acl-id acl-1 --rule-number 100 --ingress",
        "aws ec2 create-network-insights-path --source i-1 --protocol TCP",
        "kubectl krew install ns",
        "kubectl create -f x.yaml --record=false -n a",
        "kubectl -n a -o json get pod x",
        "kubectl exec -it pod -c c -- sh -c 'mysql --nope'",
        "kubectl get po,svc -A -owide --sort-by=.metadata.name",
        "kubectl $VERB pods --anything",
        "kubectl delete pod $(kubectl get pods -o name)",
        "docker run --rm -it -p 80:80 image cmd --not-docker",
        "docker compose up --anything",
        "docker buildx build --platform linux/arm64 --no-cache-filter base -t a .",
        "docker buildx create --anything",
        "docker run --net=host image",
        "docker top web -x",
        "docker create image cmd --not-docker",
        "docker volume create --name data",
        "docker stack deploy --orchestrator=kubernetes -c stack.yml web",
        "git fast-export --all",
        "git cherry-pick --stdin",
        "git log --oneline --graph --no-merges -5",
        "git -C dir push --force-with-lease origin HEAD:main",
        "git commit --am",
        "git lfs pull",
        "helm secrets view x",
        "terraform plan -var 'a=b' -out=x",
        "terraform -chdir=x apply --auto-approve",
        "terraform providers schema -json",
        "terraform plan -json",
        "docker stop --time 100 web",
        "docker buildx --builder mine dap build .",
        "git config --global ocaml.configure '--disable-debug-runtime'",
        "aws dsql generate-db-connect-auth-token --hostname h",
        "aws iam create-role --role-name X ...",
        "aws rds create-db-cluster --replication-source-identifier ...",
        "systemctl status -l nginx.service --no-pager",
        "psql -h host -U u -d db -Atc 'select 1'",
        "yum install -y kubelet kubectl --disableexcludes=kubernetes",
        "xargs -n1 aws rds stop-db-instance --db-instance-identifier",
        "cat x | xargs aws rds stop-db-instance",
        "echo kubectl gett",
        "kubectl get pods # then kubectl gett",
        "aws ssm put-parameter --name 'a --type String",
    ],
)
def test_says_nothing_of_what_a_tool_accepts_or_nobody_can_know(command):
    assert found(block(command)) == []


def test_places_are_those_of_the_word_in_lists_and_behind_prompts():
    text = "---\ntitle: x\n---\n1. Do\n\n   ```console\n   $ aws rds \\\n       stop-db \\\n       --x <a>\n   out\n   ```\n"
    assert [each[:3] for each in found(text)] == [(8, 8, "aws rds stop-db")]
    assert found("Naïve – `kubectl gett pods`.\n") == [(1, 18, "kubectl gett", "get")]


def test_lines_without_a_prompt_are_what_a_command_shows():
    assert found(block("$ kubectl get pods", "kubectl gett pods", language="console")) == []


def test_windows_lines_go_on_behind_a_caret():
    assert found(block("aws rds stop-db-instance ^", "  --db-instance-identifier x")) == []


def test_a_span_may_only_name_a_command():
    assert found("Run `aws rds stop-db-instance`, with `aws cli` or `kubectl foo`.\n") == []
    assert found("Run `aws rds stop-db-instance --region x`.\n")[0][2].endswith("identifier")


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("The advantages of `git submodules`.\n", []),
        ("It makes a `git patch` of that.\n", []),
        ("Type `git comit`.\n", ["git comit"]),
        ("Type `aws rds zap-it-all`.\n", ["aws rds zap-it-all"]),
        ("Type `docker container lss`.\n", ["docker container lss"]),
        ("Set `alias.wdiff`, then `git wdiff`.\n", []),
        ("The program `git-wdiff` adds `git wdiff`.\n", []),
        ("The program git-wdiffs adds `git wdiff --color`.\n", ["git wdiff"]),
    ],
)
def test_things_and_added_commands_are_not_misspelt(text, subjects):
    assert [it[2] for it in found(text)] == subjects
    if not subjects:
        assert list(check_commands(read_page("git-wdiff/a.md", text))) == []


def test_other_languages_and_comments_are_left_alone():
    assert found(block("kubectl gett pods", language="yaml")) == []
    assert found("<!-- `kubectl gett pods` -->\n") == []


def test_abbreviated_options_are_notes():
    text = block("aws rds failover-db-cluster --db-cluster-identifier a --target-db b")
    (finding,) = check_commands(read_page("a.md", text))
    assert (finding.kind, finding.kind.level) == (Kind.ABBREVIATED, "note")
    assert finding.fix == "--target-db-instance-identifier"


def test_a_command_that_ends_too_early_says_which_line_lacks_its_backslash():
    text = block("aws ec2 stop-instances \\", "  --force", "  --instance-ids i-1")
    assert found(text) == [
        (2, 9, "aws ec2 stop-instances --instance-ids", "a \\ at the end of line 3")
    ]
    assert found(block("aws ec2 stop-instances --force", "echo"))[0][3] == ""
    text = block("aws ec2 stop-instances ^", "  --force", "  --instance-ids i-1")
    assert found(text)[0][3] == "a ^ at the end of line 3"


def test_deprecated_options_are_warnings():
    text = block("aws sqs receive-message --queue-url q --attribute-names All")
    (finding,) = check_commands(read_page("a.md", text))
    assert (finding.kind, finding.kind.level) == (Kind.DEPRECATED, "warning")


@pytest.mark.parametrize(
    "line",
    [
        "kubectl get " + "x" * 10_000,
        "kubectl get " + "$(" * 3_000,
        "kubectl get " + "<" * 10_000,
        "kubectl " + "-" * 10_000,
        "aws " + "a-" * 5_000,
        "aws ec2 run-instances " + "--a" * 4_000,
        "{{" * 5_000 + " kubectl get",
        "kubectl get \x01\x1b\ud7ff",
    ],
)
def test_long_and_broken_commands_end_in_time(line):
    begun = time.process_time()
    list(check_commands(read_page("a.md", block(line))))
    assert time.process_time() - begun < 5


def test_a_document_of_endless_commands_is_checked_up_to_a_number(monkeypatch):
    monkeypatch.setattr(commands, "MAX_COMMANDS", 3)
    page = read_page("a.md", "```sh\n" + "kubectl gett pods\n" * 5 + "```\n")
    assert [finding.line for finding in check_commands(page)] == [2, 3, 4]
