r"""Commands and instructions that destroy something, as a table, and where a text mentions them.

A row belongs in the table if running the command once can lose data, a resource, running work or a
safeguard, and the reverse command doesn't bring it back. Stopping a service, cordoning a node and
rolling a deployment back are not in it: starting, uncordoning and rolling forward undo them. Neither
are dry runs, plans and queries.

A mention counts whatever surrounds it: "never delete the topic" mentions a deletion. The caller
decides from the rest of the sentence what the author wants. Descriptions ("the deleted pods", "a drop
in traffic", "Kubernetes deletes the pod") are no mentions: in prose a verb counts only where an
instruction can stand, which `_instructs` decides.

Every pattern takes time proportional to the text: gaps between words are bounded, and a second part of
a command (`needs`) is looked for once for each command of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# a blank within a command: a line that ends in a backslash goes on in the next
_B: Final = r"(?:[^\S\n]|\\\r?\n){1,9}"
_W: Final = r"[^\s;|&`]{1,120}+"
# options between a program and its subcommand, each with a value or without one
_OPTIONS: Final = rf"(?:{_B}-{_W}(?:{_B}{_W})??){{0,6}}?"
_GAP: Final = rf"(?:{_B}{_W}){{0,9}}?"
# words before a subcommand, in no sentence such as "the Vault secrets to delete"
_PLAIN: Final = (
    rf"{_B}(?!(?:and|can|does|for|from|has|if|is|of|on|or|server|that|the|to|was|will|with)\b){_W}"
)
_HEAD: Final = r"(?<![\w.-])"
_END: Final = r"(?![\w-])"
# word processors turn the two hyphens of an option into one dash
_DASHES: Final = r"(?<![\w-])(?:--|[\u2013\u2014])"

# in prose, a verb may stand in emphasis
_VERB: Final = r"(?<![^\W_])(?<![./-])(?<![^\W_]_)"
_CLOSE: Final = r"[*_~\"'\u2019\u201d]{0,3}"
_DETERMINER: Final = (
    rf"(?:(?:some{_B}or{_B})?(?:all|any|both|each|one|some){_B}of{_B}(?:the|these|those)"
    r"|the|all|any|an?|this|that|these|those|every|each|both|one|two|some|your|its|their|our)"
)
# "delete requests", "purge lag", "flush interval": the verb is part of a noun
_COMPOUND: Final = (
    r"(?:actions?|apis?|are|and|as|at|before|buttons?|by|calls?|can|commands?|counters?|did|does|during"
    r"|endpoints?|errors?|events?|failed|failures?|fails|flags?|for|had|has|if|in|intervals?|is|job|lag"
    r"|latency|lists?|lock|logic|markers?|methods?|of|off|on|operations?|options?|or|out|performance"
    r"|permissions?|phase|polic(?:y|ies)|process|protection|query|rates?|requests?|script|signals?"
    r"|statements?|steps?|task|threads?|throughput|timeout|times?|to|verbs?|was|were|when|will|with"
    r"|without|workflow)"
)
# "destroy and recreate the machine"
_TOO: Final = rf"(?:(?:and|or|&){_B}(?!then\b)[a-z-]{{2,20}}+{_B})?"
_OBJECT: Final = (
    rf"(?!{_COMPOUND}(?![\w-]))(?:{_DETERMINER}{_B})?"
    r"[^\s,;!?|=:+/&)\u2013\u2014-][^\s,;!?|]{0,80}"
)


def _noun(nouns: str, code: str = rf"(?:{_DETERMINER}{_B})?`[\w\"'\[(/~$<*][^`\n]{{1,80}}`") -> str:
    """Return a pattern of one of these nouns, with up to four words before it, or of a name in code."""
    return (
        rf"(?:(?:{_DETERMINER}{_B})?"
        rf"(?:(?!(?:from|into)\b|{_COMPOUND}(?![\w-]))[^\s,;.!?|]{{1,60}}+{_B}){{0,4}}?"
        rf"[*_`\"'(\[]{{0,2}}(?:{nouns})(?![\w-])|{code})"
    )


def _act(verbs: str, objects: str = _OBJECT) -> str:
    """Return a pattern of an instruction: one of these verbs and what it is done to."""
    return rf"{_VERB}(?:(?:force|hard|bulk)[- ])?(?:{verbs})(?![^\W_]|-){_CLOSE}{_B}{_TOO}{objects}"


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
        label: the command, as people call it.
        destroys: what is lost, in three to six words.
        words: every match holds one of them, in any case: a text without needs no search.
        pattern: finds it in commands or prose.
        example: a text in which it is found.
        needs: has to be found in the same command too, in any order.
        imperative: whether it counts only where an instruction can stand, because the pattern is
            made of English words.
    """

    label: str
    destroys: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    example: str
    needs: re.Pattern[str] | None = None
    imperative: bool = False


@dataclass(frozen=True, slots=True)
class Danger:
    """A destructive command that a text mentions.

    Args:
        label: the label of its row.
        start: offset of its first character in the text.
        end: offset behind its last character.
    """

    label: str
    start: int
    end: int


def _rule(  # noqa: PLR0913, PLR0917 - a row has as many cells
    label: str,
    destroys: str,
    words: str,
    pattern: str,
    example: str,
    needs: str | None = None,
    *,
    imperative: bool = False,
) -> DangerRule:
    flags = re.IGNORECASE | re.MULTILINE
    return DangerRule(
        label,
        destroys,
        tuple(words.split()),
        re.compile(pattern, flags),
        example,
        None if needs is None else re.compile(needs, flags),
        imperative,
    )


_AWS: Final = rf"{_HEAD}aws{_END}"

#: The table, from the most specific row to the least: of two that find the same text, the earlier one
#: gives the label.
DANGERS: Final[tuple[DangerRule, ...]] = (
    # Kubernetes and its tools
    _rule(
        "kubectl delete",
        "Kubernetes objects and their data",
        "delete",
        rf"{_HEAD}(?:kubectl|oc|k){_OPTIONS}{_B}delete{_END}",
        "kubectl -n shop delete pod web-1",
    ),
    _rule(
        "kubectl drain",
        "the node's pods and their emptyDir",
        "drain",
        rf"{_HEAD}(?:kubectl|k|oc(?:{_B}adm)?){_OPTIONS}{_B}drain{_END}",
        "kubectl drain node-3 --ignore-daemonsets",
    ),
    _rule(
        "drain a node",
        "the node's pods and their emptyDir",
        "drain",
        _act("drain(?:ing)?", _noun(r"nodes?|kubelets?|workers?")),
        "Drain the node.",
        imperative=True,
    ),
    _rule(
        "NoExecute taint",
        "pods that run on the node",
        "noexecute",
        rf"{_HEAD}(?:kubectl|oc|k){_OPTIONS}{_B}(?:adm{_B})?taint{_GAP}{_B}{_W}(?<=:noexecute)",
        "kubectl taint nodes node-3 fix=1:NoExecute",
    ),
    _rule(
        "remove finalizers",
        "the clean-up a finalizer guards",
        "finalizers",
        r"[\"']?finalizers[\"']?[^\S\n]{0,3}:[^\S\n]{0,3}(?:null|\[[^\S\n]?\])",
        """kubectl patch pvc data-0 -p '{"metadata":{"finalizers":null}}'""",
    ),
    _rule(
        "kubeadm reset",
        "the node's cluster state",
        "kubeadm",
        rf"{_HEAD}kubeadm{_OPTIONS}{_B}reset{_END}",
        "sudo kubeadm reset",
    ),
    _rule(
        "helm uninstall",
        "a release and its resources",
        "helm",
        rf"{_HEAD}helm3?{_OPTIONS}{_B}(?:uninstall|delete|del|un){_END}",
        "helm uninstall ingress -n edge",
    ),
    _rule(
        "helm rollback",
        "what the newer release changed",
        "rollback",
        rf"{_HEAD}helm3?{_OPTIONS}{_B}rollback{_END}",
        "helm rollback checkout 41",
    ),
    _rule(
        "scale to 0",
        "every running copy of the service",
        "0",
        r"(?<![\w-])(?:(?:(?:--|[\u2013\u2014])(?:num-nodes|node-count|size|count|concurrency)|(?:--"
        r"|[\u2013\u2014])?"
        r"(?:replicas|desired-count|desired-capacity|reserved-concurrent-executions))(?:="
        r"|[^\S\n]{1,3})[\"']?0(?![\w.%])"
        r"|(?:desired(?:count|size|capacity)|\"replicas\")[\"']?[^\S\n]?[=:][^\S\n]?0(?![\w.%])"
        rf"|(?:ps:scale|service{_B}scale|--scale){_GAP}{_B}{_W}(?<==0)(?![\w.]))",
        "kubectl scale deploy/web --replicas=0",
    ),
    _rule(
        "scale to 0",
        "every running copy of the service",
        "zero 0",
        rf"{_VERB}(?:scal(?:e|ing)(?:{_B}[^\s;|]{{1,80}}+){{0,8}}?"
        rf"|(?:set|setting|reduce|reducing|lower|lowering|bring|change)(?:{_B}[^\s;|.]{{1,80}}+){{0,4}}?{_B}"
        rf"[`*]{{0,2}}(?:capacity|concurrency|count|instances|nodes|pods|replicas|tasks|workers)[`*]{{0,2}}"
        rf"(?:{_B}[^\s;|.]{{1,80}}+){{0,4}}?)"
        rf"{_B}(?:down{_B})?to{_B}[`*]{{0,2}}(?:0|zero)(?![\w%-])(?!\.\d)",
        "Scale the consumer to 0.",
        imperative=True,
    ),
    # infrastructure as code
    _rule(
        "terraform destroy",
        "the infrastructure in the state",
        "destroy",
        rf"{_HEAD}(?:terraform|tofu|terragrunt|tf){_OPTIONS}{_B}(?:run-all{_B}|run{_B}--all{_B}(?:--{_B})?)?"
        rf"(?:destroy{_END}|apply{_GAP}{_B}--?destroy{_END})",
        "terraform destroy -target=module.cache",
    ),
    _rule(
        "apply without review",
        "the review of the plan",
        "approve never",
        rf"(?<![\w-])(?:--?auto-approve{_END}|--require-approval(?:=|{_B})never)",
        "terraform apply -auto-approve",
    ),
    _rule(
        "terraform state rm",
        "the state's record of a resource",
        "state workspace force-unlock",
        rf"{_HEAD}(?:terraform|tofu|terragrunt|tf){_OPTIONS}{_B}"
        rf"(?:state{_B}rm|workspace{_B}delete|force-unlock){_END}",
        "terraform state rm aws_db_instance.orders",
    ),
    _rule(
        "destroy a stack",
        "a whole stack or environment",
        "destroy delete rm remove undefine",
        rf"{_HEAD}(?:(?:pulumi|cdk|vagrant|sst|copilot){_OPTIONS}{_B}destroy|pulumi{_B}stack{_B}rm"
        rf"|sam{_B}delete|(?:serverless|sls){_B}remove|virsh{_B}(?:destroy|undefine)|qm{_B}destroy"
        rf"|lxc{_B}delete|govc{_B}vm\.destroy){_END}",
        "pulumi destroy --yes",
    ),
    # cloud command lines
    _rule(
        "aws reboot",
        "running work on the instance",
        "reboot-",
        rf"{_HEAD}reboot-(?:cache-cluster|db-(?:cluster|instance)|instances?|node|broker"
        rf"|[a-z]{{3,20}}+){_END}",
        "aws ec2 reboot-instances --instance-ids i-1",
        rf"{_AWS}|`reboot-",
    ),
    _rule(
        "aws failover",
        "writes that were not replicated yet",
        "failover promote data-loss",
        rf"{_HEAD}(?:failover-(?:db|global|primary)[a-z-]{{0,40}}|promote-read-replica[a-z-]{{0,20}}"
        rf"|test-failover){_END}|{_DASHES}(?:force-failover|allow-data-loss){_END}",
        "aws rds failover-db-cluster --db-cluster-identifier orders",
    ),
    _rule(
        "aws terminate",
        "running instances, jobs or executions",
        "terminate- stop-execution",
        rf"{_HEAD}(?:terminate-[a-z][a-z-]{{2,60}}|stop-execution){_END}",
        "aws ec2 terminate-instances --instance-ids i-1",
        rf"{_AWS}|`terminate-(?:instance|job|environment|session)",
    ),
    _rule(
        "aws delete",
        "resources or data in the account",
        "delete- purge-queue deregister-image release- schedule-key-deletion empty-bucket remove- skip-final",
        rf"(?<![\w./#-])(?:(?:batch-)?delete-(?!on-|after|protection|mark)[a-z][a-z0-9-]{{2,60}}|purge-queue"
        rf"|deregister-image|release-(?:address|hosts)|schedule-key-deletion|empty-bucket"
        rf"|remove-(?!tags|permission|targets)[a-z][a-z-]{{2,60}}|{_DASHES}skip-final-snapshot){_END}",
        "aws dynamodb delete-table --table-name carts",
        rf"{_AWS}|`purge-queue|`(?:batch-)?delete-(?:bucket|cluster|db-|function|instance|item|key|log-group"
        r"|message|object|queue|secret|service|snapshot|stack|table|topic|volume)",
    ),
    _rule(
        "aws s3 rm",
        "objects of a bucket",
        "s3",
        rf"{_HEAD}aws{_OPTIONS}{_B}s3{_B}(?:r[mb]{_END}|(?:sync|mv){_GAP}{_B}--delete{_END})",
        "aws s3 rm s3://logs/2023/ --recursive",
    ),
    _rule(
        "shorten retention",
        "data or backups past the limit",
        "retention lifecycle vacuum-",
        rf"{_HEAD}(?:put-retention-policy|put-bucket-lifecycle(?:-configuration)?){_END}"
        r"|--backup-retention-period(?:=|[^\S\n]{1,3})0(?!\d)"
        r"|(?<![\w.])retention\.(?:ms|bytes)=\d{1,5}(?!\d)|--vacuum-(?:time|size|files)(?![\w-])",
        "aws logs put-retention-policy --log-group-name /app --retention-in-days 1",
    ),
    _rule(
        "empty the CDN",
        "everything the edges have cached",
        "create-invalidation purge",
        rf"{_HEAD}create-invalidation{_END}|{_HEAD}purge[_-]all{_END}",
        'aws cloudfront create-invalidation --distribution-id E1 --paths "/*"',
        r"[\"'\s]/\*|purge[_-]all",
    ),
    _rule(
        "DNS record delete",
        "a record that clients resolve",
        "action",
        r"[\"']?action[\"']?[^\S\n]{0,3}:[^\S\n]{0,3}[\"']delete[\"']",
        """--change-batch '{"Changes":[{"Action":"DELETE"}]}'""",
    ),
    _rule(
        "gcloud delete",
        "cloud resources or their data",
        "gcloud az doctl oci ibmcloud openstack hcloud linode-cli azcopy",
        rf"{_HEAD}(?:gcloud|az|doctl|oci|ibmcloud|openstack|hcloud|linode-cli|azcopy)(?:{_PLAIN}){{0,7}}?{_B}"
        rf"(?:delete|delete-[a-z-]{{1,30}}|destroy|flush|purge|remove|rm){_END}"
        rf"|{_HEAD}gcloud(?:{_B}{_W}){{0,5}}?{_B}(?:instances{_B}reset|subscriptions{_B}seek){_END}",
        "gcloud compute instances delete web-1",
    ),
    _rule(
        "storage client rm",
        "objects, tables or images in storage",
        "gsutil bq mc rbd rados rclone",
        rf"{_HEAD}(?:gsutil|bq|mc|rbd|rados|rclone){_OPTIONS}{_B}"
        rf"(?:rm|rb|remove|delete|deletefile|purge|sync){_END}",
        "gsutil -m rm -r gs://exports/tmp",
    ),
    _rule(
        "platform delete",
        "an application, job or cluster",
        "delete destroy uninstall purge nuke drain force-leave reset clean decommission",
        rf"{_HEAD}(?:eksctl|kops|kind|minikube|argocd|flux|velero|istioctl|consul|nomad|flyctl|fly|cf|gh|glab"
        rf"|influx|airflow|knife|cockroach|temporal|databricks)(?:{_PLAIN}){{0,4}}?{_B}"
        rf"(?:delete|destroy|uninstall|purge|nuke){_END}|{_HEAD}(?:consul{_B}force-leave"
        rf"|nomad{_B}node{_B}drain|nomad{_B}(?:job{_B})?stop{_GAP}{_B}--?purge|airflow{_B}db{_B}(?:reset"
        rf"|clean)"
        rf"|cockroach{_B}node{_B}decommission"
        rf"|heroku(?:{_B}{_W}){{0,2}}?{_B}(?:apps:destroy|pg:reset|addons:destroy)){_END}",
        "eksctl delete nodegroup --cluster prod",
    ),
    # SQL and database tools
    _rule(
        "SQL DROP",
        "tables, indexes, schemas or roles",
        "drop",
        rf"{_HEAD}alter{_B}(?:table|database|type|domain|index|view|publication|foreign)"
        rf"(?:{_B}{_W}){{1,6}}?{_B}drop{_END}"
        rf"|{_HEAD}drop{_B}(?:(?:if{_B}exists|unique|materialized|global|temporary|external|foreign"
        rf"|owned){_B})?"
        rf"(?:by|column|constraint|database|extension|function|index|key|keyspace|measurement|partition"
        rf"|procedure|publication|retention{_B}policy|role|schema|sequence|series|stage|stream|subscription"
        rf"|table|tablespace|trigger|type|user|view|warehouse){_END}",
        "DROP TABLE orders_old;",
    ),
    _rule(
        "SQL TRUNCATE",
        "every row of a table",
        "truncate",
        rf"{_HEAD}(?:truncate{_B}table{_END}|(?-i:TRUNCATE){_B}(?:only{_B})?[\w\"`$<{{][\w.\"`$>}}]{{0,80}})",
        "TRUNCATE TABLE sessions;",
    ),
    _rule(
        "SQL DELETE",
        "rows of a table",
        "delete",
        rf"{_HEAD}delete{_B}(?:\w{{1,30}}{_B})?from{_B}(?!{_DETERMINER}{_B})[\w\"`$<{{(]",
        "DELETE FROM jobs WHERE state = 'stuck';",
    ),
    _rule(
        "end a database session",
        "its query and open transaction",
        "terminate_backend kill",
        rf"(?<![\w-])(?:pg_terminate_backend|rds_kill(?:_query)?|kill{_B}(?:query{_B}"
        rf"|connection{_B})?\d{{1,20}}"
        rf"|alter{_B}system{_B}kill{_B}session|killop){_END}",
        "SELECT pg_terminate_backend(4711);",
    ),
    _rule(
        "pg_resetwal",
        "committed transactions in the log",
        "pg_reset",
        rf"{_HEAD}pg_reset(?:wal|xlog){_END}",
        "pg_resetwal -f $PGDATA",
    ),
    _rule(
        "database tool drop",
        "a database, replica or replication slot",
        "drop pg_rewind patronictl pg_ctl",
        rf"{_HEAD}(?:pg_drop_replication_slot|dropdb|dropuser|pg_rewind|mysqladmin{_OPTIONS}{_B}drop"
        rf"|patronictl{_OPTIONS}{_B}(?:reinit|remove|failover)|pg_ctl{_GAP}{_B}(?:-m|--mode=?)"
        rf"[^\S\n]?i(?:mmediate)?){_END}",
        "SELECT pg_drop_replication_slot('debezium');",
    ),
    _rule(
        "MySQL replication reset",
        "binary logs or the replica's position",
        "purge reset skip_",
        rf"{_HEAD}(?:purge{_B}(?:binary|master){_B}logs"
        rf"|reset{_B}(?:master|(?:slave|replica){_B}all|binary{_B}logs)"
        rf"|sql_slave_skip_counter|rds_skip_repl_error){_END}",
        "PURGE BINARY LOGS BEFORE '2026-01-01';",
    ),
    _rule(
        "MongoDB drop",
        "collections, documents or users",
        "db. rs.",
        rf"{_HEAD}db\.(?:[^\s;]{{1,80}}?\.)?(?:drop\w{{0,20}}|delete(?:many|one)|remove|findoneanddelete)\("
        r"|rs\.reconfig\([^\n;]{0,80}?force",
        "db.carts.deleteMany({state: 'expired'})",
    ),
    _rule(
        "framework database reset",
        "every table of the application",
        "db: migrate: manage.py .destroy .delete_all",
        rf"{_HEAD}(?:db:(?:drop|reset|purge|wipe|truncate_all|schema:load|structure:load|migrate:reset)"
        rf"|migrate:(?:fresh|refresh|reset)|manage\.py{_B}(?:flush|reset_db)){_END}"
        r"|(?<=[\w)])\.(?:destroy|destroy_all|delete_all)!?(?![\w!?.])",
        "bin/rails db:drop",
    ),
    _rule(
        "nodetool removenode",
        "a Cassandra node or its snapshots",
        "nodetool",
        rf"{_HEAD}nodetool{_OPTIONS}{_B}(?:removenode|assassinate|decommission|clearsnapshot"
        rf"|truncatehints){_END}",
        "nodetool removenode 5f3c",
    ),
    # caches, queues and streams
    _rule(
        "FLUSHALL",
        "every key in the cache",
        "flush",
        rf"{_HEAD}flush(?:all|db|_all){_END}",
        "redis-cli -h cache-1 FLUSHALL",
    ),
    _rule(
        "Redis DEL",
        "keys or cluster membership",
        "unlink redis-cli valkey-cli del",
        rf"{_HEAD}(?:(?-i:UNLINK){_B}[\w$\"'<{{:]|(?:redis-cli|valkey-cli){_GAP}{_B}(?:del|unlink|xtrim|ltrim"
        rf"|cluster{_B}(?:reset|forget|failover{_B}(?:force|takeover))|shutdown{_B}nosave){_END})"
        rf"|`(?-i:DEL){_B}",
        "redis-cli UNLINK basket:4711",
    ),
    _rule(
        "kafka-topics --delete",
        "a topic and its records",
        "kafka-",
        rf"--delete(?![\w-])|{_HEAD}kafka-delete-records(?:\.sh)?{_END}",
        "kafka-topics.sh --bootstrap-server b:9092 --delete --topic clicks",
        r"kafka-(?:topics|delete-records)",
    ),
    _rule(
        "reset consumer offsets",
        "the group's position in the topic",
        "--reset-offsets",
        r"--reset-offsets(?![\w-])",
        "kafka-consumer-groups --group g --reset-offsets --to-latest --execute",
        r"--execute(?![\w-])|`--reset-offsets",
    ),
    _rule(
        "delete consumer offsets",
        "the group's position in the topic",
        "kafka-consumer-groups",
        r"--delete(?:-offsets)?(?![\w-])",
        "kafka-consumer-groups.sh --delete --group old-billing",
        r"kafka-consumer-groups",
    ),
    _rule(
        "reset consumer offsets",
        "the group's position in the topic",
        "reset seek",
        _act("reset(?:ting)?", _noun("offsets?"))
        + rf"|{_HEAD}(?:rpk{_B}group{_B}seek|reset-cursor){_END}",
        "Reset the consumer group's offsets.",
        imperative=True,
    ),
    _rule(
        "unclean leader election",
        "records that only the leader had",
        "unclean",
        r"unclean\.leader\.election\.enable[\"']?[^\S\n]?[=:][^\S\n]?[\"']?true"
        r"|--election-type(?:=|[^\S\n]{1,3})unclean",
        "--add-config unclean.leader.election.enable=true",
    ),
    _rule(
        "stream or backlog purge",
        "messages that nobody has consumed",
        "nats rpk pulsar-admin celery artisan postsuper exim sidekiq",
        rf"{_HEAD}(?:(?:nats|rpk|pulsar-admin)(?:{_B}{_W}){{1,4}}?{_B}"
        rf"(?:purge|rm|delete|clear-backlog|skip-all|skip-messages)|celery{_GAP}{_B}purge"
        rf"|artisan{_B}queue:(?:flush|clear)|postsuper{_B}-d|exim{_B}-mrm){_END}"
        r"|sidekiq::(?:queue|retryset|deadset|scheduledset)[^\s;]{0,60}?\.clear(?!\w)",
        "nats stream purge ORDERS",
    ),
    _rule(
        "rabbitmqctl purge or reset",
        "queues, or the node's whole state",
        "rabbitmq",
        rf"{_HEAD}rabbitmqctl{_OPTIONS}{_B}(?:purge_queue|delete_\w{{1,20}}|reset|force_reset|force_boot"
        rf"|forget_cluster_node){_END}|{_HEAD}rabbitmqadmin{_OPTIONS}{_B}(?:purge|delete){_END}",
        "rabbitmqctl purge_queue invoices",
    ),
    # search engines, stores, secrets
    _rule(
        "HTTP DELETE",
        "whatever the address names",
        "delete purge",
        rf"(?<![\w-])(?:-X[^\S\n]?|--request(?:=|{_B})|--method(?:=|{_B})|-method{_B}|https?{_B})"
        rf"[\"']?(?:delete|purge){_END}",
        'curl -X DELETE "http://es:9200/logs-2025.11"',
    ),
    _rule(
        "Elasticsearch or Solr delete",
        "an index or its documents",
        "delete",
        rf"(?:^|`)[^\S\n]{{0,8}}(?-i:DELETE{_B}/?[a-z0-9_*.<][^\s`]{{0,100}})|_delete_by_query{_END}"
        rf"|<delete><(?:query|id)>",
        "DELETE /logs-2025.11.01",
    ),
    _rule(
        "Elasticsearch forced primary",
        "documents of the lost shard copy",
        "accept_data_loss allocate_",
        r"accept_data_loss|allocate_(?:empty|stale)_primary",
        '{"allocate_empty_primary": {"index": "logs", "accept_data_loss": true}}',
    ),
    _rule(
        "Prometheus series delete",
        "samples of the series",
        "delete_series clean_tombstones",
        rf"(?<!\w)(?:delete_series|clean_tombstones){_END}",
        "curl -g 'http://prom:9090/api/v1/admin/tsdb/delete_series?match[]=up'",
    ),
    _rule(
        "etcd or ZooKeeper delete",
        "keys or a cluster member",
        "etcdctl deleteall rmr",
        rf"{_HEAD}(?:etcdctl{_OPTIONS}{_B}(?:del|rm|member{_B}remove)|(?:deleteall|rmr){_B}(?=/)){_END}"
        rf"|{_HEAD}(?:deleteall|rmr){_B}/",
        "etcdctl member remove 8e9e05c5",
    ),
    _rule(
        "ceph or HDFS removal",
        "disks, pools or stored files",
        "ceph hdfs hadoop yarn really",
        rf"{_HEAD}(?:ceph{_B}(?:osd{_B}(?:purge|destroy|rm|lost|pool{_B}(?:delete|rm))|auth{_B}(?:del|rm))"
        rf"|(?:hdfs|hadoop)(?:{_B}{_W}){{0,3}}?{_B}-(?:rmr?|rmdir|expunge|format|delete)"
        rf"|yarn{_B}application{_B}-kill){_END}|--yes-i-really-(?:really-)?mean-it",
        "ceph osd purge 12",
    ),
    _rule(
        "vault delete or revoke",
        "secrets, leases or tokens",
        "vault",
        rf"{_HEAD}vault(?:{_PLAIN}){{0,3}}?{_B}(?:delete|destroy|revoke|disable){_END}",
        "vault token revoke -accessor 9Hb",
    ),
    _rule(
        "revoke credentials",
        "keys, tokens or certificates in use",
        "revok",
        _act(
            "revok(?:e|ing)",
            _noun("certificates?|certs?|credentials?|keys?|leases?|licen[cs]es?|sessions?|tokens?"),
        ),
        "Revoke the leaked token.",
        imperative=True,
    ),
    _rule(
        "disable MFA",
        "the second factor of an account",
        "mfa 2fa factor",
        rf"{_VERB}(?:disabl|deactivat|remov|turn)(?:e|ing)?(?:{_B}off)?{_B}"
        rf"(?:(?:the|his|her|their|your){_B})?(?:mfa|2fa|multi-factor|two-factor){_END}",
        "Disable MFA for the user.",
        imperative=True,
    ),
    _rule(
        "disable MFA",
        "the second factor of an account",
        "mfa",
        rf"{_HEAD}deactivate-mfa-device{_END}",
        "aws iam deactivate-mfa-device --user-name ana",
    ),
    # git
    _rule(
        "git push --force",
        "commits on the remote branch",
        "push",
        rf"{_HEAD}git{_OPTIONS}{_B}push{_GAP}{_B}(?:--force(?:-with-lease)?|--delete|--mirror|-[a-z]{{0,3}}f"
        rf"|-d|[+:][\w/.$<{{-]{{1,80}}){_END}",
        "git push --force origin main",
    ),
    _rule(
        "git discard",
        "changes that were not committed",
        "git",
        rf"{_HEAD}git{_OPTIONS}{_B}(?:reset{_GAP}{_B}--hard"
        rf"|clean{_B}(?!-[a-z]{{0,6}}n)-[a-z]{{0,6}}f[a-z]{{0,6}}"
        rf"|checkout{_B}--{_B}\S|restore{_B}\.|stash{_B}(?:drop|clear)|reflog{_B}expire|filter-branch)(?!\w)"
        rf"|{_HEAD}git{_OPTIONS}{_B}branch{_B}(?-i:-D){_END}",
        "git reset --hard origin/main",
    ),
    # Linux
    _rule(
        "rm",
        "files, for good",
        "rm",
        rf"(?<![\w./~-])(?<!git[ ])(?:(?:/usr)?/bin/)?(?-i:rm)"
        rf"(?:{_B}(?=[-\w./~$\"'*{{<\\]){_W}|(?<=`rm)(?=`))"
        rf"|(?<=[ `/])rm{_B}-rf",
        "rm -rf /var/lib/docker/overlay2",
    ),
    _rule(
        "find -delete",
        "every file the search finds",
        "-delete",
        r"(?<=\s)-delete(?![\w-])",
        "find /var/log -name '*.gz' -mtime +7 -delete",
        rf"{_HEAD}find{_END}",
    ),
    _rule(
        "rsync --delete",
        "files that the source lacks",
        "rsync",
        r"--delete(?:-\w{1,20})?(?![\w-])|--remove-source-files(?![\w-])",
        "rsync -a --delete ./site/ web1:/srv/site/",
        rf"{_HEAD}rsync{_END}",
    ),
    _rule(
        "empty a file",
        "what the file or log held",
        "truncate > /dev/null",
        rf"{_HEAD}truncate{_B}(?:-s|--size)|(?<![\w>])(?::|true|cat{_B}/dev/null|echo(?:{_B}(?:-n|\"\"|''))?)"
        r"[^\S\n]{0,3}(?<![->])>(?![>&])[^\S\n]{0,3}[\"']?[/$~](?!dev/|proc/|sys/)[\w./$*{}-]{1,120}"
        r"|(?:^|`)>[^\S\n]?/[\w./-]{1,80}\.log(?!\w)|cp{_B}/dev/null{_B}".replace("{_B}", _B),
        "truncate -s 0 /var/log/app.log",
    ),
    _rule(
        "overwrite a disk",
        "everything on the disk or volume",
        "mkfs wipefs blkdiscard sgdisk nvme cryptsetup parted mdadm xfs_repair remove lvreduce destroy "
        "rollback shred btrfs hdparm diskpart format",
        rf"{_HEAD}(?:mkfs(?:\.\w{{1,10}})?{_B}\S|wipefs{_B}(?:-[a-z]{{0,4}}[ao]|--all|--offset)"
        rf"|blkdiscard{_B}|sgdisk{_B}(?:-z|-o|--zap)|nvme{_B}format|cryptsetup{_B}(?:luksformat|lukserase)"
        rf"|parted{_GAP}{_B}(?:mklabel|rm)|mdadm{_GAP}{_B}--zero-superblock|xfs_repair{_B}(?-i:-L)"
        rf"|(?:lv|vg|pv)remove{_B}|lvreduce{_B}|(?:zpool|zfs){_B}(?:destroy|rollback)|shred{_B}"
        rf"|btrfs{_B}subvolume{_B}delete|hdparm{_GAP}{_B}--security-erase|diskpart{_END}|format{_B}[a-z]:)",
        "mkfs.ext4 /dev/nvme1n1",
    ),
    _rule(
        "dd onto a device",
        "everything on the disk or volume",
        "of=",
        r"(?<!\w)of=[\"']?(?:/dev/(?!null)|[$<{])",
        "dd if=/dev/zero of=/dev/sdb bs=1M",
        rf"{_HEAD}dd{_END}",
    ),
    _rule(
        "kill -9",
        "the process's unsaved work",
        "kill stop-process",
        rf"{_HEAD}(?:kill|pkill|killall){_GAP}{_B}-(?:9|(?:sig)?kill|[sn]{_B}(?:9|(?:sig)?kill)){_END}"
        rf"|{_HEAD}taskkill{_GAP}{_B}/f{_END}|{_HEAD}stop-process{_END}",
        "kill -9 4711",
    ),
    _rule(
        "SIGKILL",
        "the process's unsaved work",
        "sigkill",
        _act("send(?:ing)?", rf"(?:{_W}{_B}){{0,5}}?`?sigkill"),
        "Send SIGKILL to the process.",
        imperative=True,
    ),
    _rule(
        "kill",
        "running work of the process",
        "kill",
        rf"{_HEAD}kill{_B}(?:-(?:15|2|int|term|sig(?:term|int))\b{_B}|-s{_B}(?:sig)?(?:term|int){_B})?"
        rf"(?:\d{{1,9}}(?!\w)|[$%<\"]|`)|{_HEAD}(?:pkill|killall){_B}"
        rf"(?!(?:-{_W}{_B}){{0,3}}?-(?:sig)?(?:hup|usr[12]|quit|cont|0|1|3|l)\b)\S"
        rf"|xargs(?:{_B}{_W}){{0,4}}?{_B}kill(?!{_B}-(?:sig)?(?:hup|usr[12]|quit|0|1|3)\b){_END}",
        "kill $(pidof worker)",
    ),
    _rule(
        "reboot",
        "running work on the machine",
        "reboot poweroff",
        rf"{_VERB}(?:reboot(?:ing)?|poweroff)(?![\w-]){_CLOSE}"
        rf"(?=[^\S\n]{{0,9}}(?:$|[`;&|.,!)])|{_B}(?:-f|--force|now)\b"
        rf"|{_B}(?:{_DETERMINER}{_B}[\w`<]"
        rf"|{_noun('boxes|box|hosts?|instances?|it|machines?|members?|nodes?|servers?|them|vms?')}))",
        "sudo reboot",
        imperative=True,
    ),
    _rule(
        "shutdown",
        "running work on the machine",
        "shutdown init systemctl computer",
        rf"{_HEAD}(?:shutdown{_B}(?:-[hrp]|now|\+\d|/[rs])|init{_B}[06](?!\w)"
        rf"|systemctl{_OPTIONS}{_B}(?:reboot|poweroff|halt)|(?:stop|restart)-computer){_END}",
        "shutdown -h now",
    ),
    _rule(
        "userdel, crontab -r, purge",
        "a user, its jobs or settings",
        "del crontab apt dpkg",
        rf"{_HEAD}(?:(?:user|group)del|crontab(?:{_B}-u{_B}{_W})?{_B}-r"
        rf"|(?:apt|apt-get|aptitude){_GAP}{_B}(?:purge|--purge)|dpkg{_B}(?:-p|--purge)){_END}",
        "userdel -r deploy",
    ),
    _rule(
        "flush firewall or routes",
        "rules that were never saved",
        "tables nft flush ipvsadm conntrack",
        rf"{_HEAD}(?:ip6?tables{_GAP}{_B}(?:(?-i:-F)|--flush)|nft{_B}flush|ip{_GAP}{_B}flush"
        rf"|ipvsadm{_B}(?-i:-C)|conntrack{_B}(?-i:-F)){_END}",
        "iptables -F",
    ),
    _rule(
        "network device erase",
        "its configuration or sessions",
        "erase clear zeroize",
        rf"{_HEAD}(?:write{_B}erase|erase{_B}startup-config|clear{_B}ip{_B}bgp{_B}\*"
        rf"|request{_B}system{_B}zeroize)(?!\w)",
        "write erase",
    ),
    # containers
    _rule(
        "docker rm or prune",
        "containers, images, volumes or networks",
        "docker podman nerdctl crictl",
        rf"{_HEAD}(?:docker|docker-compose|podman|nerdctl|crictl){_OPTIONS}{_B}(?:(?:builder|buildx|compose"
        rf"|config|container|context|image|network|node|pod|secret|service|stack|system|volume){_B})?"
        rf"(?:kill|prune|remove|rm|rmi|rmp){_END}"
        rf"|{_HEAD}(?:docker{_B}compose|docker-compose){_GAP}{_B}down{_GAP}{_B}(?:-v|--volumes){_END}",
        "docker rm -f web",
    ),
    # Windows
    _rule(
        "PowerShell Remove-",
        "files, machines or accounts",
        "remove- clear- format-",
        rf"{_HEAD}(?:remove-(?:item|az\w{{1,40}}|ad\w{{1,40}}|vm\w{{0,30}}|mailbox|partition|service)"
        rf"|clear-(?:content|eventlog|disk|recyclebin)|format-volume){_END}",
        r"Remove-Item C:\inetpub\logs -Recurse",
    ),
    _rule(
        "Windows delete",
        "files or shadow copies",
        "vssadmin del rd rmdir wbadmin",
        rf"{_HEAD}(?:vssadmin{_B}delete|del{_B}(?:/[a-z]{{1,2}}{_B}){{1,4}}|(?:rd|rmdir){_B}/s{_END}"
        rf"|wbadmin{_B}delete)",
        "vssadmin delete shadows /all",
    ),
    # scripts and appliances
    _rule(
        "destructive script",
        "what its name says",
        "./",
        r"(?<![\w-])(?:delete|destroy|drop|flush|kill|nuke|purge|terminate|truncate"
        r"|wipe)[-_][a-z0-9_-]{2,40}+"
        r"(?!\.(?:md|html?|txt)\b)",
        "./terminate-workers.sh --all",
        r"(?:^|[`\s])\./",
    ),
    _rule(
        "factory reset",
        "the configuration of the device",
        "factory",
        r"(?<!\w)factory[-_ ](?:default-?)?reset(?!\w)",
        "./bin/enc factory-reset",
    ),
    # options that take a safeguard away
    _rule(
        "--force",
        "the check that would stop you",
        "force",
        rf"{_DASHES}force(?:-(?:delete|destroy|detach|new-cluster|push|with-lease)[a-z-]{{0,40}})?{_END}",
        "kubectl replace --force -f pod.yaml",
    ),
    _rule(
        "--grace-period=0",
        "the time to finish running work",
        "grace-period",
        r"--grace-period(?:=|[^\S\n]{1,3})0(?!\d)",
        "--grace-period=0",
    ),
    # instructions in prose
    _rule(
        "delete",
        "what the step names",
        "delet",
        _act("delet(?:e|ing)"),
        "Delete the stuck pod.",
        imperative=True,
    ),
    _rule(
        "drop",
        "what the step names",
        "drop",
        _act("drop(?:ping)?", rf"(?:{_noun(_DATA)}|(?:it|them)(?=[^\S\n]?(?:[.:;,)]|$)))"),
        "Drop the replication slot.",
        imperative=True,
    ),
    _rule(
        "purge",
        "what the step names",
        "purg",
        _act("purg(?:e|ing)"),
        "Purge the dead-letter queue.",
        imperative=True,
    ),
    _rule(
        "truncate",
        "what the step names",
        "truncat",
        _act("truncat(?:e|ing)"),
        "Truncate the staging tables.",
        imperative=True,
    ),
    _rule(
        "destroy or wipe",
        "what the step names",
        "destroy wip eras nuk",
        _act("destroy(?:ing)?|wip(?:e|ing)(?:[- ]out)?|eras(?:e|ing)|nuk(?:e|ing)"),
        "Wipe the disk.",
        imperative=True,
    ),
    _rule(
        "terminate",
        "running work of what is named",
        "terminat",
        _act("terminat(?:e|ing)", rf"(?!(?:tls|ssl|https?)\b){_OBJECT}"),
        "Terminate the instance.",
        imperative=True,
    ),
    _rule(
        "kill",
        "running work of the process",
        "kill",
        _act(
            "kill(?:ing)?(?:[- ]off)?",
            _noun(
                "backends?|clients?|connections?|containers?|it|jobs?|pids?|pods?|process(?:es)?"
                "|quer(?:y|ies)|reports?|runners?|servers?|sessions?|tasks?|them|threads?|transactions?"
                "|workers?"
            ),
        ),
        "Kill the long-running query.",
        imperative=True,
    ),
    _rule(
        "flush or empty",
        "cached data or waiting messages",
        "flush clear empty",
        _act(
            "flush(?:ing)?(?:[- ]out)?|clear(?:ing)?(?:[- ]out)?|empty(?:ing)?",
            rf"(?!(?:{_W}{_B}){{0,3}}?(?:browser|dns|arp)\b)"
            + _noun(
                r"backlogs?|bucket|caches?|database|db|keyspaces?|keys|logs?(?:[- ]files?)?|memcached?"
                r"|queues?|redis|streams?|tables?|topics?|trash|volumes?"
            ),
        ),
        "Flush the session cache.",
        imperative=True,
    ),
    _rule(
        "remove",
        "what the step names",
        "remov",
        # a name in code may be a setting, a path is a file; what leaves rotation can be put back
        _act("remov(?:e|ing)", _noun(_THINGS, rf"(?:{_DETERMINER}{_B})?`[~/][^`\n]{{1,80}}`"))
        + rf"(?!{_B}from{_B}(?:the{_B})?(?:dns|load|maintenance|pool|rotation|service|target)\b)",
        "Remove the old snapshots.",
        imperative=True,
    ),
    _rule(
        "must be deleted",
        "what the step names",
        "be",
        rf"(?<!\w)(?:can|should|must|needs?{_B}to|ha(?:s|ve){_B}to)"
        rf"(?:{_B}[*_]{{0,2}}(?:also|first|manually|never|not|now|only|safely|then)[*_]{{0,2}}){{0,2}}{_B}be"
        rf"(?:{_B}(?:manually|safely|then))?{_B}[*_]{{0,2}}"
        r"(?:deleted|destroyed|erased|purged|truncated|wiped)(?![\w-])",
        "The stale lock must be deleted by hand.",
    ),
    _rule(
        "delete button",
        "what the page shows",
        "click press choose hit tap",
        rf"{_VERB}(?:click|press|choose|hit|tap)(?:{_B}on)?(?:{_B}the)?{_B}[*_\"'`\u201c\[]{{0,3}}"
        r"(?:delete|destroy|purge|remove|terminate|wipe)(?![\w-])",
        'Click "Delete" and confirm.',
        imperative=True,
    ),
)

# where an instruction can stand: at the start of a line, item, cell or clause, or behind such a word
_OPENS: Final = re.compile(
    r"(?:\A|[\n.:;!?,|(\])>\u2013\u2014\u2026\u2022$#&]|(?:\A|\s)[-+]|(?:\A|[^\w.-])(?:"
    r"afterwards|also|always|and|carefully|don['\u2019]?t|either|else|ever|finally|first|forcibly"
    r"|immediately|instead|just|let['\u2019]?s|manually|must|mustn['\u2019]?t|never|next|not|now|only|or"
    r"|otherwise|permanently|please|safely|shall|should|shouldn['\u2019]?t|simply|sudo|then|therefore|to"
    r"|wrong|you"
    r"|(?:i|we|you)\s{1,3}(?:can|could|may|might|need|will|would)))\Z",
    re.IGNORECASE,
)
# a description all the same: "fails to delete the volume", "does not drop the index"
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

# a command ends with its line, at a separator or with the code it stands in
_SEPARATOR: Final = re.compile(r"(?<!\\)(?<!\\\r)\n|[;|`]|&&")
_DRY: Final = re.compile(
    r"(?<![\w-])(?<!without )(?:(?:--|[-\u2013\u2014])dry-?run(?!\w|=(?:false|none|0)\b)|--simulate\b"
    r"|-whatif\b|--generate-cli-skeleton\b|dryrun=(?:all|true|client|server)\b)",
    re.IGNORECASE,
)


@cache
def _any_word() -> re.Pattern[str]:
    """Return what finds a word of any rule in a case-folded text: most texts have none."""
    return re.compile("|".join(sorted({re.escape(it) for rule in DANGERS for it in rule.words})))


def dangers_in(text: str) -> tuple[Danger, ...]:
    """Find the destructive commands that a text mentions: commands, inline code or prose.

    A mention in a negative sentence counts ("never delete the topic"): what the author wants done is
    for the caller to decide. Commands with a dry-run option don't count.

    Args:
        text: a step, a command or a passage, of any length.

    Returns:
        The mentions in the order of the text; none overlaps another. Time is linear in the length of
        the text.
    """
    folded = text.casefold()
    if not _any_word().search(folded):
        return ()
    commands = _Commands(text)
    found: list[tuple[int, int, int]] = []
    for order, rule in enumerate(DANGERS):
        if not any(word in folded for word in rule.words):
            continue
        for match in rule.pattern.finditer(text):
            start = match.start()
            if rule.imperative and not _instructs(text, start, match.group()):
                continue
            if commands.allow(start, order, rule):
                found.append((start, order, start + len(match.group().rstrip())))
    return tuple(_apart(sorted(found)))


def _apart(found: list[tuple[int, int, int]]) -> Iterator[Danger]:
    behind = 0
    for start, order, end in found:
        if start >= behind:
            yield Danger(DANGERS[order].label, start, end)
            behind = end


def _instructs(text: str, start: int, found: str) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    cut = start > _BEFORE
    before = before.rstrip(_MARKUP)
    if _ING.match(found):
        return _GERUND.search(before) is not None
    if before.endswith("\n") and found[0].islower():
        # a sentence that goes on in the next line, unless a blank line or a stop ends it
        before = before[:-1].rstrip(_MARKUP)
    if not before:
        return not cut
    return _OPENS.search(before) is not None and _DESCRIBES.search(before) is None


class _Commands:
    """The commands of a text, and what each of them has beside a match; each is looked at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.start() for match in _SEPARATOR.finditer(text)]
        self._known: dict[tuple[int, int], bool] = {}

    def allow(self, start: int, order: int, rule: DangerRule) -> bool:
        """Return whether the command at `start` has what the rule needs, and is no dry run."""
        command = bisect_right(self._ends, start)
        if self._has(command, -1, _DRY):
            return False
        return rule.needs is None or self._has(command, order, rule.needs)

    def _has(self, command: int, key: int, pattern: re.Pattern[str]) -> bool:
        known = self._known.get((command, key))
        if known is None:
            # the separator before is part of it: some patterns ask for the backtick in front
            start = self._ends[command - 1] if command else 0
            end = self._ends[command] if command < len(self._ends) else len(self._text)
            known = self._known[command, key] = pattern.search(self._text, start, end) is not None
        return known
