r"""Finds mentions of commands and instructions that destroy something, from a table of them.

A row belongs in the table if running the command once can lose data, a resource, running work or a
safeguard, and the reverse command doesn't bring it back. Stopping a service, cordoning a node and
rolling a deployment back are not in it: starting, uncordoning and rolling forward undo them. Neither
are dry runs, plans and queries.

A mention counts whatever surrounds it: "never delete the topic" mentions a deletion. The caller
decides from the rest of the sentence what the author wants. Descriptions ("the deleted pods", "a drop
in traffic", "Kubernetes deletes the pod") don't count as mentions: in prose a verb counts only where an
instruction is possible, which `_instructs` decides.

Every pattern takes time proportional to the text: gaps between words are bounded, and the search for a
second part of a command (`needs`) runs once for each command of the text.

In a pattern, a blank stands for the blanks within a command, and a name in angle brackets for its
pattern in `_PARTS`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_B: Final = r"(?:[^\S\n]|\\\r?\n){1,9}"
"""A blank within a command: a line that ends in a backslash continues on the next one."""
_PARTS: Final = {
    # options between a program and its subcommand, each with a value or without one
    "<options>": "(?: -<word>(?: <word>)??){0,6}?",
    "<gap>": "(?: <word>){0,9}?",
    # words before a subcommand, but not in a sentence such as "the Vault secrets to delete"
    "<plain>": r" (?!(?:and|can|does|for|from|has|if|is|of|on|or|server|that|the|to|was|will|with)\b)<word>",
    "<head>": r"(?<![\w.-])",
    "<end>": r"(?![\w-])",
    # word processors turn the two hyphens of an option into one dash
    "<dashes>": r"(?<![\w-])(?:--|[\u2013\u2014])",
    # in prose, a verb may have emphasis
    "<verb>": r"(?<![^\W_])(?<![./-])(?<![^\W_]_)",
    "<close>": r"[*_~\"'\u2019\u201d]{0,3}",
    # "destroy and recreate the machine"
    "<too>": r"(?:(?:and|or|&) (?!then\b)[a-z-]{2,20}+ )?",
    "<object>": r"(?!<compound>(?![\w-]))(?:<the> )?[^\s,;!?|=:+/&)\u2013\u2014-][^\s,;!?|]{0,80}",
    # "delete requests", "purge lag", "flush interval": the verb is part of a noun
    "<compound>": "(?:actions?|apis?|are|and|as|at|before|buttons?|by|calls?|can|commands?|counters?|did|does|during"
    "|endpoints?|errors?|events?|failed|failures?|fails|flags?|for|had|has|if|in|intervals?|is|job|lag|latency|lists?"
    "|lock|logic|markers?|methods?|of|off|on|operations?|options?|or|out|performance|permissions?|phase|polic(?:y|ies)"
    "|process|protection|query|rates?|requests?|script|signals?|statements?|steps?|task|threads?|throughput|timeout"
    "|times?|to|verbs?|was|were|when|will|with|without|workflow)",
    "<the>": "(?:(?:some or )?(?:all|any|both|each|one|some) of (?:the|these|those)|the|all|any|an?|this|that|these"
    "|those|every|each|both|one|two|some|your|its|their|our)",
    "<word>": r"[^\s;|&`]{1,120}+",
}
"""Patterns for the names in a pattern; each may contain the names below it."""
_BLANK_OUTSIDE: Final = re.compile(r"(\[(?:\\.|[^\]\\])+\])| ")
"""A set of characters, or a blank outside of one."""


def _noun(nouns: str, code: str = r"(?:<the> )?`[\w\"'\[(/~$<*][^`\n]{1,80}`") -> str:
    """Return a pattern of one of these nouns, with up to four words before it, or of a name in code."""
    before = r"(?:(?!(?:from|into)\b|<compound>(?![\w-]))[^\s,;.!?|]{1,60}+ ){0,4}?"
    return rf"(?:(?:<the> )?{before}[*_`\"'(\[]{{0,2}}(?:{nouns})(?![\w-])|{code})"


def _act(verbs: str, objects: str = "<object>") -> str:
    """Return a pattern of an instruction: one of these verbs and its object."""
    return rf"<verb>(?:(?:force|hard|bulk)[- ])?(?:{verbs})(?![^\W_]|-)<close> <too>{objects}"


_DATA: Final = (
    r"backlogs?|backups?|buckets?|caches?|collections?|columns?|connections?|data|databases?|dbs?"
    r"|events?|index(?:es)?|indices|keyspaces?|keys?|messages?|partitions?|publications?|queues?|records?"
    r"|replicas?|roles?|rows?|schemas?|segments?|series|shards?|slots?|snapshots?|streams?|subscriptions?"
    r"|tables?|topics?|users?|views?|volumes?"
)
_THINGS: Final = (
    rf"{_DATA}|accounts?|brokers?|certificates?|claims?|clusters?|consumers?|containers?|deployments?"
    r"|director(?:y|ies)|disks?|environments?|files?|folders?|hosts?|images?|instances?|locks?|logs?"
    r"|machines?|members?|namespaces?|nodes?|objects?|pods?|pvcs?|releases?|repositor(?:y|ies)|secrets?"
    r"|servers?|statefulsets?|tenants?|tokens?|vms?|wals?"
)


@dataclass(frozen=True, slots=True)
class DangerRule:
    """One row of the table.

    Args:
        label: the command's usual name.
        destroys: the loss, in three to six words.
        words: every match has one of them, in any case: a text without any needs no search.
        pattern: finds it in commands or prose; as written, see the module.
        example: a text that it matches.
        needs: a pattern that must match in the same command too, in any order.
        imperative: whether it counts only where an instruction is possible, because the pattern
            consists of English words.
    """

    label: str
    destroys: str
    words: tuple[str, ...]
    pattern: str
    example: str
    needs: str | None = None
    imperative: bool = False


@dataclass(frozen=True, slots=True)
class Danger:
    """A destructive command that a text mentions.

    Args:
        label: the label of its row.
        start: offset of its first character in the text.
        end: offset after its last character.
    """

    label: str
    start: int
    end: int


def _rule(  # noqa: PLR0913, PLR0917 - a row has as many cells
    label: str,
    destroys: str,
    words: str,
    example: str,
    pattern: str,
    needs: str | None = None,
    *,
    imperative: bool = False,
) -> DangerRule:
    return DangerRule(label, destroys, tuple(words.split()), pattern, example, needs, imperative)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a row's pattern, compiled when a text first has one of the row's words: few texts have many."""
    for name, meaning in _PARTS.items():
        pattern = pattern.replace(name, meaning)
    pattern = _BLANK_OUTSIDE.sub(lambda found: found[1] or _B, pattern)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_prose: Final = partial(_rule, imperative=True)

#: The table, from the most specific row to the least: of two that find the same text, the earlier one
#: gives the label. A row: label, loss, words, example, pattern, second pattern that must match.
# fmt: off
DANGERS: Final[tuple[DangerRule, ...]] = (
    # Kubernetes and its tools
    _rule("kubectl delete", "Kubernetes objects and their data", "delete", "kubectl -n shop delete pod web-1",
          "<head>(?:kubectl|oc|k)<options> delete<end>"),
    _rule("kubectl drain", "the node's pods and their emptyDir", "drain", "kubectl drain node-3 --ignore-daemonsets",
          "<head>(?:kubectl|k|oc(?: adm)?)<options> drain<end>"),
    _prose("drain a node", "the node's pods and their emptyDir", "drain", "Drain the node.",
          _act("drain(?:ing)?", _noun("nodes?|kubelets?|workers?"))),
    _rule("NoExecute taint", "pods that run on the node", "noexecute", "kubectl taint nodes node-3 fix=1:NoExecute",
          "<head>(?:kubectl|oc|k)<options> (?:adm )?taint<gap> <word>(?<=:noexecute)"),
    _rule("remove finalizers", "the clean-up a finalizer guards", "finalizers",
          "kubectl patch pvc data-0 -p '{\"metadata\":{\"finalizers\":null}}'",
          r"[\"']?finalizers[\"']?[^\S\n]{0,3}:[^\S\n]{0,3}(?:null|\[[^\S\n]?\])"),
    _rule("kubeadm reset", "the node's cluster state", "kubeadm", "sudo kubeadm reset",
          "<head>kubeadm<options> reset<end>"),
    _rule("helm uninstall", "a release and its resources", "helm", "helm uninstall ingress -n edge",
          "<head>helm3?<options> (?:uninstall|delete|del|un)<end>"),
    _rule("helm rollback", "what the newer release changed", "rollback", "helm rollback checkout 41",
          "<head>helm3?<options> rollback<end>"),
    _rule("scale to 0", "every running copy of the service", "0", "kubectl scale deploy/web --replicas=0",
          r"(?<![\w-])(?:(?:(?:--|[\u2013\u2014])(?:num-nodes|node-count|size|count|concurrency)|(?:--"
          r"|[\u2013\u2014])?(?:replicas|desired-count|desired-capacity|reserved-concurrent-executions))(?:="
          r"|[^\S\n]{1,3})[\"']?0(?![\w.%])|(?:desired(?:count|size|capacity)"
          r"|\"replicas\")[\"']?[^\S\n]?[=:][^\S\n]?0(?![\w.%])|(?:ps:scale|service scale"
          r"|--scale)<gap> <word>(?<==0)(?![\w.]))"),
    _prose("scale to 0", "every running copy of the service", "zero 0", "Scale the consumer to 0.",
          r"<verb>(?:scal(?:e|ing)(?: [^\s;|]{1,80}+){0,8}?|(?:set|setting|reduce|reducing|lower|lowering|bring"
          r"|change)(?: [^\s;|.]{1,80}+){0,4}? [`*]{0,2}(?:capacity|concurrency|count|instances|nodes|pods|replicas"
          r"|tasks|workers)[`*]{0,2}(?: [^\s;|.]{1,80}+){0,4}?) (?:down )?to [`*]{0,2}(?:0|zero)(?![\w%-])(?!\.\d)"),
    # infrastructure as code
    _rule("terraform destroy", "the infrastructure in the state", "destroy", "terraform destroy -target=module.cache",
          "<head>(?:terraform|tofu|terragrunt|tf)<options> (?:run-all |run --all (?:-- )?)?(?:destroy<end>"
          "|apply<gap> --?destroy<end>)"),
    _rule("apply without review", "the review of the plan", "approve never", "terraform apply -auto-approve",
          r"(?<![\w-])(?:--?auto-approve<end>|--require-approval(?:=| )never)"),
    _rule("terraform state rm", "the state's record of a resource", "state workspace force-unlock",
          "terraform state rm aws_db_instance.orders",
          "<head>(?:terraform|tofu|terragrunt|tf)<options> (?:state rm|workspace delete|force-unlock)<end>"),
    _rule("destroy a stack", "a whole stack or environment", "destroy delete rm remove undefine",
          "pulumi destroy --yes",
          "<head>(?:(?:pulumi|cdk|vagrant|sst|copilot)<options> destroy|pulumi stack rm|sam delete|(?:serverless"
          r"|sls) remove|virsh (?:destroy|undefine)|qm destroy|lxc delete|govc vm\.destroy)<end>"),
    # cloud command lines
    _rule("aws reboot", "running work on the instance", "reboot-", "aws ec2 reboot-instances --instance-ids i-1",
          "<head>reboot-(?:cache-cluster|db-(?:cluster|instance)|instances?|node|broker|[a-z]{3,20}+)<end>",
          "<head>aws<end>|`reboot-"),
    _rule("aws failover", "writes that were not replicated yet", "failover promote data-loss",
          "aws rds failover-db-cluster --db-cluster-identifier orders",
          "<head>(?:failover-(?:db|global|primary)[a-z-]{0,40}|promote-read-replica[a-z-]{0,20}"
          "|test-failover)<end>|<dashes>(?:force-failover|allow-data-loss)<end>"),
    _rule("aws terminate", "running instances, jobs or executions", "terminate- stop-execution",
          "aws ec2 terminate-instances --instance-ids i-1",
          "<head>(?:terminate-[a-z][a-z-]{2,60}|stop-execution)<end>",
          "<head>aws<end>|`terminate-(?:instance|job|environment|session)"),
    _rule("aws delete", "resources or data in the account",
          "delete- purge-queue deregister-image release- schedule-key-deletion empty-bucket remove- skip-final",
          "aws dynamodb delete-table --table-name carts",
          r"(?<![\w./#-])(?:(?:batch-)?delete-(?!on-|after|protection|mark)[a-z][a-z0-9-]{2,60}|purge-queue"
          "|deregister-image|release-(?:address|hosts)|schedule-key-deletion|empty-bucket|remove-(?!tags"
          "|permission|targets)[a-z][a-z-]{2,60}|<dashes>skip-final-snapshot)<end>",
          "<head>aws<end>|`purge-queue|`(?:batch-)?delete-(?:bucket|cluster|db-|function|instance|item|key|log-group|message"
          "|object|queue|secret|service|snapshot|stack|table|topic|volume)"),
    _rule("aws s3 rm", "objects of a bucket", "s3", "aws s3 rm s3://logs/2023/ --recursive",
          "<head>aws<options> s3 (?:r[mb]<end>|(?:sync|mv)<gap> --delete<end>)"),
    _rule("shorten retention", "data or backups past the limit", "retention lifecycle vacuum-",
          "aws logs put-retention-policy --log-group-name /app --retention-in-days 1",
          "<head>(?:put-retention-policy|put-bucket-lifecycle(?:-configuration)?)<end>"
          r"|--backup-retention-period(?:=|[^\S\n]{1,3})0(?!\d)|(?<![\w.])retention\.(?:ms|bytes)=\d{1,5}(?!\d)"
          r"|--vacuum-(?:time|size|files)(?![\w-])"),
    _rule("empty the CDN", "everything the edges have cached", "create-invalidation purge",
          'aws cloudfront create-invalidation --distribution-id E1 --paths "/*"',
          "<head>create-invalidation<end>|<head>purge[_-]all<end>", r"[\"'\s]/\*|purge[_-]all"),
    _rule("DNS record delete", "a record that clients resolve", "action",
          "--change-batch '{\"Changes\":[{\"Action\":\"DELETE\"}]}'",
          r"[\"']?action[\"']?[^\S\n]{0,3}:[^\S\n]{0,3}[\"']delete[\"']"),
    _rule("gcloud delete", "cloud resources or their data",
          "gcloud az doctl oci ibmcloud openstack hcloud linode-cli azcopy",
          "gcloud compute instances delete web-1",
          "<head>(?:gcloud|az|doctl|oci|ibmcloud|openstack|hcloud|linode-cli|azcopy)(?:<plain>){0,7}? (?:delete"
          "|delete-[a-z-]{1,30}|destroy|flush|purge|remove|rm)<end>"
          "|<head>gcloud(?: <word>){0,5}? (?:instances reset|subscriptions seek)<end>"),
    _rule("storage client rm", "objects, tables or images in storage", "gsutil bq mc rbd rados rclone",
          "gsutil -m rm -r gs://exports/tmp",
          "<head>(?:gsutil|bq|mc|rbd|rados|rclone)<options> (?:rm|rb|remove|delete|deletefile|purge|sync)<end>"),
    _rule("platform delete", "an application, job or cluster",
          "delete destroy uninstall purge nuke drain force-leave reset clean decommission",
          "eksctl delete nodegroup --cluster prod",
          "<head>(?:eksctl|kops|kind|minikube|argocd|flux|velero|istioctl|consul|nomad|flyctl|fly|cf|gh|glab"
          "|influx|airflow|knife|cockroach|temporal|databricks)(?:<plain>){0,4}? (?:delete|destroy|uninstall|purge"
          "|nuke)<end>|<head>(?:consul force-leave|nomad node drain|nomad (?:job )?stop<gap> --?purge"
          "|airflow db (?:reset|clean)|cockroach node decommission|heroku(?: <word>){0,2}? (?:apps:destroy"
          "|pg:reset|addons:destroy))<end>"),
    # SQL and database tools
    _rule("SQL DROP", "tables, indexes, schemas or roles", "drop", "DROP TABLE orders_old;",
          "<head>alter (?:table|database|type|domain|index|view|publication|foreign)(?: <word>){1,6}? drop<end>"
          "|<head>drop (?:(?:if exists|unique|materialized|global|temporary|external|foreign|owned) )?(?:by|column"
          "|constraint|database|extension|function|index|key|keyspace|measurement|partition|procedure|publication"
          "|retention policy|role|schema|sequence|series|stage|stream|subscription|table|tablespace|trigger|type"
          "|user|view|warehouse)<end>"),
    _rule("SQL TRUNCATE", "every row of a table", "truncate", "TRUNCATE TABLE sessions;",
          r'<head>(?:truncate table<end>|(?-i:TRUNCATE) (?:only )?[\w"`$<{][\w."`$>}]{0,80})'),
    _rule("SQL DELETE", "rows of a table", "delete", "DELETE FROM jobs WHERE state = 'stuck';",
          r'<head>delete (?:\w{1,30} )?from (?!<the> )[\w"`$<{(]'),
    _rule("end a database session", "its query and open transaction", "terminate_backend kill",
          "SELECT pg_terminate_backend(4711);",
          r"(?<![\w-])(?:pg_terminate_backend|rds_kill(?:_query)?|kill (?:query |connection )?\d{1,20}"
          "|alter system kill session|killop)<end>"),
    _rule("pg_resetwal", "committed transactions in the log", "pg_reset", "pg_resetwal -f $PGDATA",
          "<head>pg_reset(?:wal|xlog)<end>"),
    _rule("database tool drop", "a database, user or replication slot", "drop",
          "SELECT pg_drop_replication_slot('debezium');",
          "<head>(?:pg_drop_replication_slot|dropdb|dropuser|mysqladmin<options> drop)<end>"),
    _rule("database member", "a member's data, or unreplicated writes", "pg_rewind patronictl pg_ctl",
          "patronictl failover orders --candidate orders-2 --force",
          r"<head>(?:pg_rewind|patronictl<options> (?:reinit|remove|failover)|pg_ctl<gap> (?:-m|--mode=?)[^\S\n]?i(?:mmediate)?)<end>"),
    _rule("MySQL replication reset", "binary logs or the replica's position", "purge reset skip_",
          "PURGE BINARY LOGS BEFORE '2026-01-01';",
          "<head>(?:purge (?:binary|master) logs|reset (?:master|(?:slave|replica) all|binary logs)"
          "|sql_slave_skip_counter|rds_skip_repl_error)<end>"),
    _rule("MongoDB drop", "collections, documents or users", "db. rs.", "db.carts.deleteMany({state: 'expired'})",
          r"<head>db\.(?:[^\s;]{1,80}?\.)?(?:drop\w{0,20}|delete(?:many|one)|remove|findoneanddelete)\("
          r"|rs\.reconfig\([^\n;]{0,80}?force"),
    _rule("framework database reset", "every table of the application", "db: migrate: manage.py .destroy .delete_all",
          "bin/rails db:drop",
          "<head>(?:db:(?:drop|reset|purge|wipe|truncate_all|schema:load|structure:load|migrate:reset)"
          r"|migrate:(?:fresh|refresh|reset)|manage\.py (?:flush|reset_db))<end>|(?<=[\w)])\.(?:destroy|destroy_all"
          r"|delete_all)!?(?![\w!?.])"),
    _rule("nodetool removenode", "a Cassandra node or its snapshots", "nodetool", "nodetool removenode 5f3c",
          "<head>nodetool<options> (?:removenode|assassinate|decommission|clearsnapshot|truncatehints)<end>"),
    # caches, queues and streams
    _rule("FLUSHALL", "every key in the cache", "flush", "redis-cli -h cache-1 FLUSHALL",
          "<head>flush(?:all|db|_all)<end>"),
    _rule("Redis DEL", "keys or cluster membership", "unlink redis-cli valkey-cli del",
          "redis-cli UNLINK basket:4711",
          r"<head>(?:(?-i:UNLINK) [\w$\"'<{:]|(?:redis-cli|valkey-cli)<gap> (?:del|unlink|xtrim|ltrim"
          "|cluster (?:reset|forget|failover (?:force|takeover))|shutdown nosave)<end>)|`(?-i:DEL) "),
    _rule("kafka-topics --delete", "a topic and its records", "kafka-",
          "kafka-topics.sh --bootstrap-server b:9092 --delete --topic clicks",
          r"--delete(?![\w-])|<head>kafka-delete-records(?:\.sh)?<end>", "kafka-(?:topics|delete-records)"),
    _rule("reset consumer offsets", "the group's position in the topic", "--reset-offsets",
          "kafka-consumer-groups --group g --reset-offsets --to-latest --execute",
          r"--reset-offsets(?![\w-])", r"--execute(?![\w-])|`--reset-offsets"),
    _rule("delete consumer offsets", "the group's position in the topic", "kafka-consumer-groups",
          "kafka-consumer-groups.sh --delete --group old-billing",
          r"--delete(?:-offsets)?(?![\w-])", "kafka-consumer-groups"),
    _prose("reset consumer offsets", "the group's position in the topic", "reset seek",
          "Reset the consumer group's offsets.",
          _act("reset(?:ting)?", _noun("offsets?")) + "|<head>(?:rpk group seek|reset-cursor)<end>"),
    _rule("unclean leader election", "records that only the leader had", "unclean",
          "--add-config unclean.leader.election.enable=true",
          r"unclean\.leader\.election\.enable[\"']?[^\S\n]?[=:][^\S\n]?[\"']?true|--election-type(?:="
          r"|[^\S\n]{1,3})unclean"),
    _rule("stream or backlog purge", "messages that nobody has consumed",
          "nats rpk pulsar-admin celery artisan postsuper exim sidekiq",
          "nats stream purge ORDERS",
          "<head>(?:(?:nats|rpk|pulsar-admin)(?: <word>){1,4}? (?:purge|rm|delete|clear-backlog|skip-all"
          "|skip-messages)|celery<gap> purge|artisan queue:(?:flush|clear)|postsuper -d|exim -mrm)<end>"
          r"|sidekiq::(?:queue|retryset|deadset|scheduledset)[^\s;]{0,60}?\.clear(?!\w)"),
    _rule("rabbitmqctl purge or reset", "queues, or the node's whole state", "rabbitmq",
          "rabbitmqctl purge_queue invoices",
          r"<head>rabbitmqctl<options> (?:purge_queue|delete_\w{1,20}|reset|force_reset|force_boot"
          "|forget_cluster_node)<end>|<head>rabbitmqadmin<options> (?:purge|delete)<end>"),
    # search engines, stores, secrets
    _rule("HTTP DELETE", "whatever the address names", "delete purge", 'curl -X DELETE "http://es:9200/logs-2025.11"',
          r"(?<![\w-])(?:-X[^\S\n]?|--request(?:=| )|--method(?:=| )|-method |https? )[\"']?(?:delete|purge)<end>"),
    _rule("Elasticsearch or Solr delete", "an index or its documents", "delete", "DELETE /logs-2025.11.01",
          r"(?:^|`)[^\S\n]{0,8}(?-i:DELETE /?[a-z0-9_*.<][^\s`]{0,100})|_delete_by_query<end>|<delete><(?:query|id)>"),
    _rule("Elasticsearch forced primary", "documents of the lost shard copy", "accept_data_loss allocate_",
          '{"allocate_empty_primary": {"index": "logs", "accept_data_loss": true}}',
          "accept_data_loss|allocate_(?:empty|stale)_primary"),
    _rule("Prometheus series delete", "samples of the series", "delete_series clean_tombstones",
          "curl -g 'http://prom:9090/api/v1/admin/tsdb/delete_series?match[]=up'",
          r"(?<!\w)(?:delete_series|clean_tombstones)<end>"),
    _rule("etcd or ZooKeeper delete", "keys or a cluster member", "etcdctl deleteall rmr",
          "etcdctl member remove 8e9e05c5",
          "<head>(?:etcdctl<options> (?:del|rm|member remove)|(?:deleteall|rmr) (?=/))<end>|<head>(?:deleteall"
          "|rmr) /"),
    _rule("ceph or HDFS removal", "disks, pools or stored files", "ceph hdfs hadoop yarn really", "ceph osd purge 12",
          "<head>(?:ceph (?:osd (?:purge|destroy|rm|lost|pool (?:delete|rm))|auth (?:del|rm))|(?:hdfs"
          "|hadoop)(?: <word>){0,3}? -(?:rmr?|rmdir|expunge|format|delete)|yarn application -kill)<end>"
          "|--yes-i-really-(?:really-)?mean-it"),
    _rule("vault delete or revoke", "secrets, leases or tokens", "vault", "vault token revoke -accessor 9Hb",
          "<head>vault(?:<plain>){0,3}? (?:delete|destroy|revoke|disable)<end>"),
    _prose("revoke credentials", "keys, tokens or certificates in use", "revok", "Revoke the leaked token.",
          _act("revok(?:e|ing)",
               _noun("certificates?|certs?|credentials?|keys?|leases?|licen[cs]es?|sessions?|tokens?"))),
    _prose("disable MFA", "the second factor of an account", "mfa 2fa factor", "Disable MFA for the user.",
          "<verb>(?:disabl|deactivat|remov|turn)(?:e|ing)?(?: off)? (?:(?:the|his|her|their|your) )?(?:mfa|2fa"
          "|multi-factor|two-factor)<end>"),
    _rule("disable MFA", "the second factor of an account", "mfa", "aws iam deactivate-mfa-device --user-name ana",
          "<head>deactivate-mfa-device<end>"),
    # git
    _rule("git push --force", "commits on the remote branch", "push", "git push --force origin main",
          "<head>git<options> push<gap> (?:--force(?:-with-lease)?|--delete|--mirror|-[a-z]{0,3}f|-d"
          r"|[+:][\w/.$<{-]{1,80})<end>"),
    _rule("git discard", "changes that were not committed", "git", "git reset --hard origin/main",
          r"<head>git<options> (?:reset<gap> --hard|clean (?!-[a-z]{0,6}n)-[a-z]{0,6}f[a-z]{0,6}|checkout -- \S"
          r"|restore \.|stash (?:drop|clear)|reflog expire|filter-branch)(?!\w)"
          "|<head>git<options> branch (?-i:-D)<end>"),
    # Linux
    _rule("rm", "files, for good", "rm", "rm -rf /var/lib/docker/overlay2",
          r"(?<![\w./~-])(?<!git[ ])(?:(?:/usr)?/bin/)?(?-i:rm)(?: (?=[-\w./~$\"'*{<\\])<word>|(?<=`rm)(?=`))"
          "|(?<=[ `/])rm -rf"),
    _rule("find -delete", "every file the search finds", "-delete", "find /var/log -name '*.gz' -mtime +7 -delete",
          r"(?<=\s)-delete(?![\w-])", "<head>find<end>"),
    _rule("rsync --delete", "files that the source lacks", "rsync", "rsync -a --delete ./site/ web1:/srv/site/",
          r"--delete(?:-\w{1,20})?(?![\w-])|--remove-source-files(?![\w-])", "<head>rsync<end>"),
    _rule("empty a file", "what the file or log held", "truncate > /dev/null", "truncate -s 0 /var/log/app.log",
          r'<head>truncate (?:-s|--size)|(?<![\w>])(?::|true|cat /dev/null|echo(?: (?:-n|""'
          r"|''))?)[^\S\n]{0,3}(?<![->])>(?![>&])[^\S\n]{0,3}[\"']?[/$~](?!dev/|proc/|sys/)[\w./$*{}-]{1,120}|(?:^"
          r"|`)>[^\S\n]?/[\w./-]{1,80}\.log(?!\w)|cp /dev/null "),
    _rule("overwrite a disk", "everything on the disk or volume",
          "mkfs wipefs blkdiscard sgdisk nvme cryptsetup parted mdadm xfs_repair remove lvreduce destroy "
          "rollback shred btrfs hdparm diskpart format",
          "mkfs.ext4 /dev/nvme1n1",
          r"<head>(?:mkfs(?:\.\w{1,10})? \S|wipefs (?:-[a-z]{0,4}[ao]|--all|--offset)|blkdiscard |sgdisk (?:-z|-o"
          "|--zap)|nvme format|cryptsetup (?:luksformat|lukserase)|parted<gap> (?:mklabel|rm)"
          "|mdadm<gap> --zero-superblock|xfs_repair (?-i:-L)|(?:lv|vg|pv)remove |lvreduce |(?:zpool"
          "|zfs) (?:destroy|rollback)|shred |btrfs subvolume delete|hdparm<gap> --security-erase|diskpart<end>"
          "|format [a-z]:)"),
    _rule("dd onto a device", "everything on the disk or volume", "of=", "dd if=/dev/zero of=/dev/sdb bs=1M",
          r"(?<!\w)of=[\"']?(?:/dev/(?!null)|[$<{])", "<head>dd<end>"),
    _rule("kill -9", "the process's unsaved work", "kill stop-process", "kill -9 4711",
          "<head>(?:kill|pkill|killall)<gap> -(?:9|(?:sig)?kill|[sn] (?:9|(?:sig)?kill))<end>"
          "|<head>taskkill<gap> /f<end>|<head>stop-process<end>"),
    _prose("SIGKILL", "the process's unsaved work", "sigkill", "Send SIGKILL to the process.",
          _act("send(?:ing)?", "(?:<word> ){0,5}?`?sigkill")),
    _rule("kill", "running work of the process", "kill", "kill $(pidof worker)",
          r'<head>kill (?:-(?:15|2|int|term|sig(?:term|int))\b |-s (?:sig)?(?:term|int) )?(?:\d{1,9}(?!\w)|[$%<"]'
          r"|`)|<head>(?:pkill|killall) (?!(?:-<word> ){0,3}?-(?:sig)?(?:hup|usr[12]|quit|cont|0|1|3|l)\b)\S"
          r"|xargs(?: <word>){0,4}? kill(?! -(?:sig)?(?:hup|usr[12]|quit|0|1|3)\b)<end>"),
    _prose("reboot", "running work on the machine", "reboot poweroff", "sudo reboot",
          r"<verb>(?:reboot(?:ing)?|poweroff)(?![\w-])<close>(?=[^\S\n]{0,9}(?:$|[`;&|.,!)])| (?:-f|--force|now)\b"
          r"| (?:<the> [\w`<]|"
          + _noun("boxes|box|hosts?|instances?|it|machines?|members?|nodes?|servers?|them|vms?") + "))"),
    _rule("shutdown", "running work on the machine", "shutdown init systemctl computer", "shutdown -h now",
          r"<head>(?:shutdown (?:-[hrp]|now|\+\d|/[rs])|init [06](?!\w)|systemctl<options> (?:reboot|poweroff|halt)"
          "|(?:stop|restart)-computer)<end>"),
    _rule("userdel, crontab -r, purge", "a user, its jobs or settings", "del crontab apt dpkg", "userdel -r deploy",
          "<head>(?:(?:user|group)del|crontab(?: -u <word>)? -r|(?:apt|apt-get|aptitude)<gap> (?:purge|--purge)"
          "|dpkg (?:-p|--purge))<end>"),
    _rule("flush firewall or routes", "rules that were never saved", "tables nft flush ipvsadm conntrack",
          "iptables -F",
          "<head>(?:ip6?tables<gap> (?:(?-i:-F)|--flush)|nft flush|ip<gap> flush|ipvsadm (?-i:-C)"
          "|conntrack (?-i:-F))<end>"),
    _rule("network device erase", "its configuration or sessions", "erase clear zeroize", "write erase",
          r"<head>(?:write erase|erase startup-config|clear ip bgp \*|request system zeroize)(?!\w)"),
    # containers
    _rule("docker rm or prune", "containers, images, volumes or networks", "docker podman nerdctl crictl",
          "docker rm -f web",
          "<head>(?:docker|docker-compose|podman|nerdctl|crictl)<options> (?:(?:builder|buildx|compose|config"
          "|container|context|image|network|node|pod|secret|service|stack|system|volume) )?(?:kill|prune|remove|rm"
          "|rmi|rmp)<end>|<head>(?:docker compose|docker-compose)<gap> down<gap> (?:-v|--volumes)<end>"),
    # Windows
    _rule("PowerShell Remove-", "files, machines or accounts", "remove- clear- format-",
          r"Remove-Item C:\inetpub\logs -Recurse",
          r"<head>(?:remove-(?:item|az\w{1,40}|ad\w{1,40}|vm\w{0,30}|mailbox|partition|service)|clear-(?:content"
          "|eventlog|disk|recyclebin)|format-volume)<end>"),
    _rule("Windows delete", "files or shadow copies", "vssadmin del rd rmdir wbadmin", "vssadmin delete shadows /all",
          "<head>(?:vssadmin delete|del (?:/[a-z]{1,2} ){1,4}|(?:rd|rmdir) /s<end>|wbadmin delete)"),
    # scripts and appliances
    _rule("destructive script", "what its name says", "./", "./terminate-workers.sh --all",
          r"(?<![\w-])(?:delete|destroy|drop|flush|kill|nuke|purge|terminate|truncate"
          r"|wipe)[-_][a-z0-9_-]{2,40}+(?!\.(?:md|html?|txt)\b)", r"(?:^|[`\s])\./"),
    _rule("factory reset", "the configuration of the device", "factory", "./bin/enc factory-reset",
          r"(?<!\w)factory[-_ ](?:default-?)?reset(?!\w)"),
    # options that remove a safeguard
    _rule("--force", "the check that would stop you", "force", "kubectl replace --force -f pod.yaml",
          "<dashes>force(?:-(?:delete|destroy|detach|new-cluster|push|with-lease)[a-z-]{0,40})?<end>"),
    _rule("--grace-period=0", "the time to finish running work", "grace-period", "--grace-period=0",
          r"--grace-period(?:=|[^\S\n]{1,3})0(?!\d)"),
    # instructions in prose
    _prose("delete", "what the step names", "delet", "Delete the stuck pod.",
          _act("delet(?:e|ing)")),
    _prose("drop", "what the step names", "drop", "Drop the replication slot.",
          _act("drop(?:ping)?", "(?:" + _noun(_DATA) + r"|(?:it|them)(?=[^\S\n]?(?:[.:;,)]|$)))")),
    _prose("purge", "what the step names", "purg", "Purge the dead-letter queue.",
          _act("purg(?:e|ing)")),
    _prose("truncate", "what the step names", "truncat", "Truncate the staging tables.",
          _act("truncat(?:e|ing)")),
    _prose("destroy or wipe", "what the step names", "destroy wip eras nuk", "Wipe the disk.",
          _act("destroy(?:ing)?|wip(?:e|ing)(?:[- ]out)?|eras(?:e|ing)|nuk(?:e|ing)")),
    _prose("terminate", "running work of what is named", "terminat", "Terminate the instance.",
          _act("terminat(?:e|ing)", r"(?!(?:tls|ssl|https?)\b)<object>")),
    _prose("kill", "running work of the process", "kill", "Kill the long-running query.",
          _act("kill(?:ing)?(?:[- ]off)?",
               _noun("backends?|clients?|connections?|containers?|it|jobs?|pids?|pods?|process(?:es)?|quer(?:y|ies)"
                     "|reports?|runners?|servers?|sessions?|tasks?|them|threads?|transactions?|workers?"))),
    _prose("flush or empty", "cached data or waiting messages", "flush clear empty", "Flush the session cache.",
          _act("flush(?:ing)?(?:[- ]out)?|clear(?:ing)?(?:[- ]out)?|empty(?:ing)?",
               r"(?!(?:<word> ){0,3}?(?:browser|dns|arp)\b)"
               + _noun("backlogs?|bucket|caches?|database|db|keyspaces?|keys|logs?(?:[- ]files?)?|memcached?|queues?"
                       "|redis|streams?|tables?|topics?|trash|volumes?"))),
    _prose("remove", "what the step names", "remov", "Remove the old snapshots.",
          _act("remov(?:e|ing)", _noun(_THINGS, r"(?:<the> )?`[~/][^`\n]{1,80}`"))
          + r"(?! from (?:the )?(?:dns|load|maintenance|pool|rotation|service|target)\b)"),
    _rule("must be deleted", "what the step names", "be", "The stale lock must be deleted by hand.",
          r"(?<!\w)(?:can|should|must|needs? to|ha(?:s|ve) to)(?: [*_]{0,2}(?:also|first|manually|never|not|now"
          "|only|safely|then)[*_]{0,2}){0,2} be(?: (?:manually|safely|then))? [*_]{0,2}(?:deleted|destroyed|erased"
          r"|purged|truncated|wiped)(?![\w-])"),
    _prose("delete button", "what the page shows", "click press choose hit tap", 'Click "Delete" and confirm.',
          r"<verb>(?:click|press|choose|hit|tap)(?: on)?(?: the)? [*_\"'`\u201c\[]{0,3}(?:delete|destroy|purge"
          r"|remove|terminate|wipe)(?![\w-])"),
)
# fmt: on

# places for an instruction: at the start of a line, item, cell or clause, or after such a word
_OPENS: Final = re.compile(
    r"(?:\A|[\n.:;!?,|(\])>\u2013\u2014\u2026\u2022$#&]|(?:\A|\s)[-+]|(?:\A|[^\w.-])(?:"
    r"afterwards|also|always|and|carefully|don['\u2019]?t|either|else|ever|finally|first|forcibly"
    r"|immediately|instead|just|let['\u2019]?s|manually|must|mustn['\u2019]?t|never|next|not|now|only|or"
    r"|otherwise|permanently|please|safely|shall|should|shouldn['\u2019]?t|simply|sudo|then|therefore|to"
    r"|wrong|you"
    r"|(?:i|we|you)\s{1,3}(?:can|could|may|might|need|will|would)))\Z",
    re.IGNORECASE,
)
# descriptions in such a place: "fails to delete the volume", "does not drop the index"
_DESCRIBES: Final = re.compile(
    r"(?:ab(?:ilit(?:y|ies)|le)|about|allow\w{0,3}|attempt\w{0,3}|began|begins?|cause[sd]?|configured"
    r"|continues?|fail\w{0,4}|forces?|forced|going|how|likely|permissions?|refus\w{1,3}|start(?:s|ed)"
    r"|tr(?:ies|ied|ying)|unable"
    r"|unlikely|used|wait(?:s|ing))\s{1,3}to\Z"
    r"|(?:can|could|did|does|has|have|is|was|were|will|would)\s{1,3}[*_]{0,2}not\Z",
    re.IGNORECASE,
)
_GERUND: Final = re.compile(
    r"(?:\A|[^\w])(?:after|avoid|before|by|consider|instead\s{1,3}of|means|recommend\w?|requires|suggest\w?"
    r"|try|without|worth)\Z",
    re.IGNORECASE,
)
_ING: Final = re.compile(r"(?:\w{1,9}[- ])?\w{1,9}ing\b", re.IGNORECASE)
_BEFORE: Final = 48
_MARKUP: Final = " \t\r\f\v\u00a0*_~\"'`\u2018\u2019\u201c\u201d"

# a command ends with its line, at a separator or with the code around it
_SEPARATOR: Final = re.compile(r"(?<!\\)(?<!\\\r)\n|[;|`]|&&")
_DRY: Final = re.compile(
    r"(?<![\w-])(?<!without )(?:(?:--|[-\u2013\u2014])dry-?run(?!\w|=(?:false|none|0)\b)|--simulate\b"
    r"|-whatif\b|--generate-cli-skeleton\b|dryrun=(?:all|true|client|server)\b)",
    re.IGNORECASE,
)


_RULES_OF: Final[dict[str, list[int]]] = {}
"""For each word, the numbers of the rules whose matches may have it."""
for _number, _row in enumerate(DANGERS):
    for _word in _row.words:
        _RULES_OF.setdefault(_word, []).append(_number)


@lru_cache(maxsize=16_384)
def _rules_within(part: str) -> tuple[int, ...]:
    """Return the numbers of the rules with a word in this part of a text between spaces."""
    return tuple(it for word, rules in _RULES_OF.items() if word in part for it in rules)


def dangers_in(text: str) -> tuple[Danger, ...]:
    """Find the destructive commands that a text mentions: commands, inline code or prose.

    A mention in a negative sentence counts ("never delete the topic"): the caller decides what the
    author wants. Commands with a dry-run option don't count.

    Args:
        text: a step, a command or a passage, of any length.

    Returns:
        The mentions in the order of the text; none overlaps another. Time is linear in the length of
        the text.
    """
    folded = text.casefold()
    numbers = set(chain.from_iterable(map(_rules_within, folded.split())))
    if not numbers:
        return ()
    ends = [match.start() for match in _SEPARATOR.finditer(text)]
    bounds = [0, *ends, len(text)]

    @cache
    def has(command: int, pattern: re.Pattern[str]) -> bool:
        # the separator before is part of it: some patterns ask for the backtick in front
        return pattern.search(text, bounds[command], bounds[command + 1]) is not None

    found: list[tuple[int, int, int]] = []
    for number in numbers:
        rule = DANGERS[number]
        for match in _compiled(rule.pattern).finditer(text):
            start = match.start()
            if rule.imperative and not _instructs(text, start, match.group()):
                continue
            command = bisect_right(ends, start)
            needs = None if rule.needs is None else _compiled(rule.needs)
            if not has(command, _DRY) and (needs is None or has(command, needs)):
                found.append((start, number, start + len(match.group().rstrip())))
    return tuple(_apart(sorted(found)))


def _apart(found: list[tuple[int, int, int]]) -> Iterator[Danger]:
    behind = 0
    for start, number, end in found:
        if start >= behind:
            yield Danger(DANGERS[number].label, start, end)
            behind = end


def _instructs(text: str, start: int, found: str) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    cut = start > _BEFORE
    before = before.rstrip(_MARKUP)
    if _ING.match(found):
        return _GERUND.search(before) is not None
    if before.endswith("\n") and found[0].islower():
        # a sentence that continues on the next line, unless a blank line or a stop ends it
        before = before[:-1].rstrip(_MARKUP)
    if not before:
        return not cut
    return _OPENS.search(before) is not None and _DESCRIBES.search(before) is None
