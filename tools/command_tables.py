"""Generates ``knowledge_rag/drift/tables`` from the tools' own help.

Run with the tools on the path, and with the Python of an environment that has ``awscli``::

    python -m tools.command_tables tools --helm build/helm.js
    python -m tools.command_tables aws --python .venv-awscli/bin/python

``kubectl``, ``docker``, ``terraform``, ``systemctl`` and ``psql`` are run with ``--help``, ``git`` for its
completions. Helm's tables and the options of Docker Compose come from npm's ``@withfig/autocomplete`` (MIT), the AWS CLI's own commands and
renamed arguments from ``awscli`` (Apache-2.0), compared with its botocore.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent.parent / "knowledge_rag/drift/tables"
_FLAGS: Final = re.compile(r"^ {1,8}(?=-)(?P<flags>\S.*?)(?::?$|  |:\s|\t)")
_FLAG: Final = re.compile(r"(?<![\w<\[=-])(--?[\w?][\w.-]*)(\[?(?:=| (?!-))(?P<value>[^\s,]+))?")
_COMMAND: Final = re.compile(r"^ {2,4}([a-z][\w-]*)\*? {2,}\S|^ {2}([a-z][\w-]*)( [A-Z\[].*)?$")
_COMMANDS: Final = re.compile(r"^(?!Global|Usage|Examples|Options|Aliases|\s).*[Cc]ommands?\b.*:$")
_VERSION: Final = re.compile(r"\d+\.\d+(?:\.\d+)?")
_VERSIONS: Final = {
    "kubectl": ["version", "--client"],
    "docker": ["--version"],
    "terraform": ["version"],
    "systemctl": ["--version"],
    "psql": ["--version"],
    "git": ["--version"],
}
_FOREIGN: Final = frozenset(("credential-gcloud.sh",))
"""Additions of this machine to a tool."""
_REFUSES: Final = re.compile(r"unknown option [`']no-such-option'")
"""What a command of git says that has no other options than its own: those that read revisions or differences
take the options of rev-list and diff as well, of which no list is complete."""
_UNDEFINED: Final = re.compile(r"flag provided but not defined: (-[\w-]+)")
"""What terraform says of an option that a command doesn't have."""
_SUBCOMMANDS: Final = ("bisect", "stash")
"""Commands of git whose subcommands have options that the command's own help doesn't list."""
_PASSES_ON: Final = re.compile(r"^Usage:.* [A-Z]+ \[?(?:COMMAND|ps OPTIONS)\b", re.MULTILINE)
"""The usage of a command that passes what follows its first argument on to another program."""
_PASSED_ON: Final = {"kubectl exec": 2, "kubectl plugin": 0}
"""Commands that do so by no usage, and behind how many arguments."""

_NEWER: Final = {
    "install": "--set-json --set-literal --plain-http! --enable-dns! --skip-schema-validation! --take-ownership! --hide-notes! --hide-secret! --labels --rollback-on-failure! --force-replace! --force-conflicts! --server-side",
    "upgrade": "--reset-then-reuse-values!",
    "template": "--skip-tests! --show-only --kube-version --output-dir",
    "lint": "--set-json --set-literal --kube-version --skip-schema-validation!",
    "fetch": "--plain-http!",
    "push": "--plain-http! --insecure-skip-tls-verify! --ca-file --cert-file --key-file --username --password",
    "dep up": "--plain-http! --ca-file --cert-file --key-file --insecure-skip-tls-verify! --username --password",
    "inspect all": "--plain-http!", "inspect chart": "--plain-http!", "inspect crds": "--plain-http!",
    "inspect readme": "--plain-http!", "inspect values": "--plain-http!", "package": "--plain-http!",
    "registry login": "--plain-http! --ca-file --cert-file --key-file", "del": "--cascade --ignore-not-found!",
    "search repo": "--fail-on-no-result!", "search hub": "--fail-on-no-result! --list-repo-url!", "repo add": "--timeout",
    "repo up": "--fail-on-repo-update-fail! --timeout", "test": "--hide-notes!", "get all": "--template", "": "--qps --color --content-cache",
}  # fmt: skip
"""Options of Helm 3.9 to 4.0 that the specification lacks, by https://helm.sh/docs/helm; those with ``!`` take no value."""
_LIKE: Final = {"install": ("upgrade", "template"), "dep up": ("dep build",)}
"""Commands that got the same options."""
_COMPOSE: Final = (
    "attach", "bridge", "build", "commit", "config", "convert", "cp", "create", "down", "events", "exec", "export", "images",
    "kill", "logs", "ls", "pause", "port", "ps", "publish", "pull", "push", "restart", "rm", "run", "scale", "start", "stats",
    "stop", "top", "unpause", "up", "version", "volumes", "wait", "watch", "alpha", "help",
)  # fmt: skip
"""Commands of Docker Compose 2, by https://docs.docker.com/reference/cli/docker/compose; their options aren't listed."""
_BUILDX: Final = (
    "b", "bake", "build", "create", "dap", "debug", "debug-shell", "dial-stdio", "du", "f", "help", "history", "imagetools", "inspect",
    "install", "ls", "policy", "prune", "replay", "rm", "stop", "uninstall", "use", "version",
)  # fmt: skip
"""Commands of Docker's buildx, by https://docs.docker.com/reference/cli/docker/buildx; only the options of `build` are listed."""
_HIDDEN: Final = {
    "kubectl": {"--record": 0},
    "docker": {
        "--net": 1,
        "--net-alias": 1,
        "--dns-opt": 1,
        "--name": 1,
        "--kernel-memory": 1,
        "--orchestrator": 1,
        "--time": 1,
    },
}
"""Options that some commands accept and no help lists, and whether they take a value."""


def _said(*command: str) -> str:
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL
    )
    return done.stdout or done.stderr


def _takes_value(flag: re.Match[str]) -> bool:
    value = flag["value"] or ""
    return bool(value) and value not in ("true", "false") and not value.startswith("[")


def flags_of(text: str) -> dict[str, int]:
    """Return the flags that a help text lists: 1 for those that take a value, else 0."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        column = _FLAGS.match(line)
        if column:
            flags = list(_FLAG.finditer(column["flags"].replace("/", " ")))
            value = int(any(map(_takes_value, flags)))
            found |= {flag[1]: value for flag in flags}
    return found


def commands_of(text: str) -> list[str]:
    """Return the subcommands that a help text lists."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        if line and not line[0].isspace():
            inside = _COMMANDS.match(line) is not None
        elif inside and (command := _COMMAND.match(line)):
            found.append(command[1] or command[2])
    return [name for name in found if name not in _FOREIGN]


def _aliases(text: str, path: tuple[str, ...]) -> list[str]:
    """Return the other names of a command below the same one: `docker image rm` is `docker rmi`, which is no `docker rm`."""
    listed = re.search(r"^Aliases:\n(.+)", text, re.MULTILINE)
    names = [name.split() for name in listed[1].split(",")] if listed else []
    return [name[-1] for name in names if len(name) == 1 or tuple(name[1:-1]) == path[:-1]]


def walk(tool: str, path: tuple[str, ...], table: dict[str, Any], help_flag: str) -> None:
    """Fill the table with a command and everything below it."""
    text = _said(tool, *path, help_flag)
    below = commands_of(text) if tool != "systemctl" or not path else []
    table[" ".join(path)] = {"flags": flags_of(text), "below": list(below)}
    names = [name for name in _aliases(text, path) if path and name != path[-1]]
    if names:
        table[" ".join(path)]["aliases"] = names
    passed = 1 if _PASSES_ON.search(text) else _PASSED_ON.get(" ".join((tool, *path)))
    if passed is not None:
        table[" ".join(path)]["passes_on"] = passed
    for flag, takes_value in _HIDDEN.get(tool, {}).items():
        if "unknown flag" not in _said(tool, *path, flag, help_flag):
            table[" ".join(path)]["flags"][flag] = takes_value
    if tool in ("systemctl", "psql"):
        return
    for name in below:
        if name not in path[-1:] and len(path) < 4:
            walk(tool, (*path, name), table, help_flag)


def git(empty: str) -> dict[str, Any]:
    """Return git's table from its own completions, and from what it says in an empty repository."""
    names = _said("git", "--list-cmds=main,others,nohelpers").split()
    names = [name for name in names if name not in _FOREIGN]
    table: dict[str, Any] = {"": {"flags": dict.fromkeys(
        ("--version", "--help", "--paginate", "--no-pager", "--no-replace-objects", "--bare",
         "--literal-pathspecs", "--no-optional-locks", "--html-path", "--man-path", "--info-path",
         "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "-p", "-P", "-v", "-h"), 0)
        | dict.fromkeys(("-C", "-c", "--exec-path", "--git-dir", "--work-tree", "--namespace",
                         "--super-prefix", "--config-env", "--list-cmds", "--attr-source"), 1),
        "below": sorted({*names, "help", "version"})}}  # fmt: skip
    for name in names:
        helper = _said("git", name, "--git-completion-helper-all").split()
        usage = _said("git", name, "-h")
        flags = {flag.rstrip("="): int(flag.endswith("=")) for flag in helper if flag != "--"}
        is_listed = flags and all(f.startswith("--") for f in flags) and name not in _SUBCOMMANDS
        if not is_listed or not _REFUSES.search(_said("git", name, "--no-such-option")):
            table[name] = {"flags": {}, "below": [], "open": 1}
            continue
        table[name] = {"flags": flags_of(usage) | flags, "below": []}
        # without an error, what begins with a dash behind an argument is an argument too
        if not _REFUSES.search(_said("git", "-C", empty, name, "x", "--no-such-option")):
            table[name]["passes_on"] = 1
    return table


def add_unlisted(table: dict[str, Any]) -> None:
    """Add the options that a command of terraform takes and its help doesn't list, of those that any command lists.

    The command never runs: behind the option comes one that nothing has.
    """
    known = {flag: takes for one in table.values() for flag, takes in one["flags"].items()}
    for path, one in table.items():
        for flag in known.keys() - one["flags"].keys():
            said = _said("terraform", *path.split(), f"{flag}=1", "-no-such-option")
            refused = _UNDEFINED.search(said)
            if refused and refused[1] != flag:
                one["flags"][flag] = known[flag]


def from_specification(build: Path) -> dict[str, Any]:
    """Return a tool's table from its completion specification."""
    script = "import(process.argv[1]).then(m => console.log(JSON.stringify(m.default)))"
    spec = json.loads(_said("node", "-e", script, str(build.resolve())))
    table: dict[str, Any] = {}

    def names(of: dict[str, Any]) -> list[str]:
        return of["name"] if isinstance(of["name"], list) else [of["name"]]

    def add(command: dict[str, Any], path: tuple[str, ...], common: dict[str, int]) -> None:
        options = command.get("options", [])
        own = {name: int("args" in one) for one in options for name in names(one)}
        common = common | {
            name: int("args" in one)
            for one in options
            if one.get("isPersistent")
            for name in names(one)
        }
        below = command.get("subcommands", [])
        key = " ".join(path)
        table[key] = {"flags": common | own, "below": [names(one)[0] for one in below]}
        if path and names(command)[1:]:
            table[key]["aliases"] = names(command)[1:]
        for one in below if key != "help" else ():
            add(one, (*path, names(one)[0]), common)

    add(spec, (), {})
    return table


def _add_plugins(table: dict[str, Any], docker: Path) -> None:
    """Add the commands of Docker's plugins, and buildx's options for `build`."""
    for build in ("build", "builder build", "image build"):
        table[build]["flags"] |= from_specification(docker)["build"]["flags"] | dict.fromkeys(
            ("--builder", "--output", "--secret", "--ssh", "--progress", "--cache-to", "--platform",
             "--build-context", "--attest", "--sbom", "--provenance", "--metadata-file", "--call",
             "--allow", "--annotation", "--no-cache-filter", "-o"), 1) | {"--load": 0, "--push": 0, "--check": 0, "-D": 0}  # fmt: skip
    for plugin in ("ai", "buildx", "compose", "debug", "desktop", "extension", "init", "machine",
                   "model", "mcp", "offload", "sandbox", "sbom", "scan", "scout", "app", "help"):  # fmt: skip
        table[""]["below"].append(plugin)
        table[plugin] = {"flags": {}, "below": [], "open": 1}
    table["buildx"] = {"flags": {}, "below": list(_BUILDX), "group": 1}
    for name in _BUILDX:
        table[f"buildx {name}"] = {"flags": {}, "below": [], "open": 1}
    table["buildx b"] = table["buildx build"] = table["build"]
    options = from_specification(docker.parent / "docker-compose.js")[""]["flags"]
    more = {"--dry-run": 0, "--progress": 1, "--parallel": 1, "--all-resources": 0, "-v": 0}
    table["compose"] = {"flags": options | more, "below": list(_COMPOSE), "group": 1}
    for name in _COMPOSE:
        table[f"compose {name}"] = {"flags": {}, "below": [], "open": 1}


def _add_newer(table: dict[str, Any]) -> None:
    for paths, options in _NEWER.items():
        flags = {option.rstrip("!"): int(not option.endswith("!")) for option in options.split()}
        for path in (paths, *_LIKE.get(paths, ())):
            table[path]["flags"] |= flags


def make_tools(fig: Path) -> dict[str, Any]:
    """Return the tables of all tools."""
    tables: dict[str, Any] = {}
    for tool, version in _VERSIONS.items():
        found = _VERSION.search(_said(tool, *version))
        table: dict[str, Any] = {}
        if tool == "git":
            with tempfile.TemporaryDirectory() as empty:
                _said("git", "init", "-q", empty)
                table = git(empty)
        else:
            walk(tool, (), table, "-help" if tool == "terraform" else "--help")
        if tool == "kubectl":
            table[""]["flags"] |= flags_of(_said("kubectl", "options"))
            table[""]["below"] += ["alpha", "options", "help", "convert"]
            table["convert"] = {"flags": {}, "below": [], "open": 1}  # now a plugin, and included
        if tool == "docker":
            _add_plugins(table, fig.parent / "docker.js")
        if tool == "terraform":  # each says "all options of plan"
            table["apply"]["flags"] |= table["plan"]["flags"]
            table["destroy"]["flags"] |= table["apply"]["flags"]
            add_unlisted(table)
        tables[tool] = {
            "version": found[0] if found else "",
            "source": f"{tool}'s own help",
            "commands": table,
        }
    package = json.loads((fig.parent.parent / "package.json").read_text(encoding="utf-8"))
    source = f"{package['name']} {package['version']} (npm, MIT)"
    helm = from_specification(fig)
    _add_newer(helm)
    tables["helm"] = {"version": "3", "source": f"{source}, helm.sh", "commands": helm}
    return tables


def write(name: str, value: dict[str, Any]) -> None:
    """Write a table with one command per line, so that diffs are readable."""

    def lines(of: Any, depth: int) -> str:
        if depth == 0 or not isinstance(of, dict):
            return json.dumps(of, separators=(",", ":"), sort_keys=True)
        inner = ",\n".join(f"{json.dumps(k)}:{lines(v, depth - 1)}" for k, v in sorted(of.items()))
        return f"{{\n{inner}\n}}"

    path = FOLDER / name
    path.write_text(lines(value, 3) + "\n", encoding="utf-8")
    print(path.name, path.stat().st_size, "bytes")


_DUMP: Final = Path(__file__).parent / "command_tables_awscli.py"


def main() -> None:
    """Generate the tables named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tools", "aws"))
    parser.add_argument("--helm", type=Path)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    if given.what == "tools":
        write("tools.json", make_tools(given.helm))
    else:
        write("aws.json", json.loads(_said(given.python, str(_DUMP))))


if __name__ == "__main__":
    main()
