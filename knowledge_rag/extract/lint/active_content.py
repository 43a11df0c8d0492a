"""Content that runs in a browser, and ways for an answer to send data away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.patterns import Hit, matches, rule, wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.patterns import Folded, Rule


_ADDRESS: Final = "is an address with a placeholder for data"
_DATA: Final = (
    r"(?:(?:the |your |all |user'?s? |chat |full |whole )?[\w -]{0,20}"
    r"(?:conversation|chat|history|prompt|answer|response|question|query|summary|data|context"
    r"|secret|password|token|credentials?|email|message|num|content|document)s?[\w -]{0,20})"
)
_TALK: Final = (
    r"[^\]}>)\n]{0,30}?\b(?:conversation|chat|history|prompt|answer|response|user'?s? \w{1,12}|summary"
    r"|secrets?|passwords?|credentials?)\b[^\]}>)\n]{0,20}"
)
_IMAGE_HOLE: Final = rf"(?:[\[{{<(]{{1,2}}{_DATA}[\]}}>)]{{1,2}}|%s|\[\{{?[a-z_ ]{{2,30}}\}}?\])"
_LINK_HOLE: Final = rf"(?:\[{{1,2}}{_TALK}\]{{1,2}}|\{{{{1,2}}{_TALK}\}}{{1,2}}|<{_TALK}>)"
_TARGET: Final = r"https?://[^\s)\]]{1,200}?[?&/=#][^\s)\]]{0,80}?"
_PRIVATE: Final = (
    r"(?:(?:chat|conversation|message) (?:history|log|transcript)|(?:the|this|full|whole|entire) (?:chat|conversation)"
    r"|previous messages?|user'?s? (?:data|question|query|message|input|prompt)"
    r"|(?:the )?contents? of (?:[\x7e/.]\S{1,60}|the (?:clipboard|environment|env file))|system prompt"
    r"|\x7e/\.(?:aws|ssh)\S{0,40}|/etc/(?:passwd|shadow)|environment variables)"
)
_DESTINATION: Final = (
    r"(?:https?://|[\w.+-]{1,64}@[\w-]{1,64}\.|\b(?:url|link|image|address|parameter|webhook)\b)"
)
_PRIVATE_FILE: Final = (
    r"(?:/etc/(?:passwd|shadow)|~/\.(?:aws|ssh)\b|\bid_rsa\b|\.aws/credentials|\$\(env\))"
)
_HOSTILE: Final = (
    r"(?:(?:\bimport|\bfrom|require\([\"']) ?(?:os|subprocess|shutil|socket|requests|urllib|https?|smtplib"
    r"|ftplib|scapy|pyshark|pynput|keyboard|pyperclip|pyautogui|mss|pil|selenium|cryptography|crypto"
    r"|winreg|ctypes|webbrowser)\b|\bfetch\(|xmlhttprequest|sendbeacon|document\.cookie|rm -rf /"
    r"|authorized_keys|/etc/(?:passwd|shadow)|\biptables\b)"
)

EXFILTRATION: Final[tuple[Rule, ...]] = (
    rule(
        _ADDRESS,
        "",
        rf"!\[[^\]\n]{{0,120}}\](?:\([ <]{{0,2}}|[:=]?[ ]{{0,2}}){_TARGET}{_IMAGE_HOLE}",
    ),
    rule(_ADDRESS, "img", rf"<img [^>\n]{{0,120}}?src=[\"']?{_TARGET}{_IMAGE_HOLE}"),
    rule(
        _ADDRESS,
        "conversation chat history prompt answer response summary credentials secrets",
        rf"\]\(https?://[^\s()\[\]{{}}<>]{{1,200}}{_LINK_HOLE}",
    ),
    rule(
        "is a link whose address is assembled from pieces",
        "ht htt",
        r"\]\(ht{1,2}p?s?[\"'] {0,2}[,+&;] {0,2}[\"']",
    ),
    wording(
        "asks to send data away",
        "send append encode encoding post upload forward query embed exfiltrate transmit leak email",
        r"(?:send|append|encod(?:e|ing)|post|upload|forward|query param\w*|embed|exfiltrate|transmit|leak|email)\b"
        rf"[^.\n]{{0,60}}?{_PRIVATE}(?:[^.\n]|\.(?=\S)){{0,80}}?{_DESTINATION}",
    ),
    rule(
        "sends a file of secrets to a host",
        "curl wget nc",
        rf"(?:curl|wget|nc) [^\n]{{0,120}}?(?:@|\$\(cat |< ?|`cat ){_PRIVATE_FILE}[^\n]{{0,120}}",
    ),
    rule(
        "passes on code that sends data away or destroys it",
        "snippet block fragment code",
        r"\b(?:add|append|attach|blend|embed|featur|fus|implement|includ|incorporat|inject|insert|integrat|introduc"
        r"|merg|mix|put|supplement|weav)\w{0,5}\b"
        rf"[^.\n`]{{0,60}}?\b(?:code|snippet)\b[^`]{{0,120}}?```[^`]{{0,600}}?{_HOSTILE}",
    ),
)  # fmt: skip


_EVENTS: Final = (
    "onerror onload onclick ondblclick onmouseover onmouseenter onmouseleave onmouseout onmousedown "
    "onmouseup onmousemove onmousewheel onwheel onfocus onfocusin onblur onchange oninput onsubmit "
    "onkeydown onkeyup onkeypress onpageshow onpagehide onhashchange onmessage onscroll onresize "
    "ontoggle onbegin onend onstart onfinish onanimationstart onanimationend ontransitionend "
    "onpointerover onpointerenter onpointerdown onreadystatechange onpropertychange oncopy onpaste "
    "oncut ondrag ondrop onplay oncanplay onbeforeunload onunload"
)

ACTIVE_CONTENT: Final[tuple[Rule, ...]] = (
    rule("a script for the reader's browser", "script", r"<script\b(?=[^<>]{0,300}=|[^<>]{0,300}>[^\x00]{0,2000}?</script)"),
    rule(
        "an address that runs a script",
        "javascript vbscript",
        r"(?<![\w-])(?:javascript|vbscript):(?!void\(0\)|;|//)[\w/(%$\[\"']",
    ),
    rule("an address that runs a script", "html", r"data:text/html[;,]"),
    rule(
        "an element that runs a script",
        _EVENTS,
        rf"<[a-z][\w:-]{{0,20}}(?:/|\b[^<>]{{0,300}}?[\s\"'])(?:{_EVENTS.replace(' ', '|')})\s{{0,4}}=",
    ),
    rule("an element that runs a script", "srcdoc", r"<iframe\b[^<>]{0,300}?\ssrcdoc\s{0,4}="),
)  # fmt: skip


def find_active_content(_text: str, folded: Folded) -> Iterator[Hit]:
    """Find scripts, and addresses and elements that run one, outside code."""
    for message, found in matches(folded.text, ACTIVE_CONTENT, folded.words):
        if not folded.in_code(found.start()):
            yield Hit(*found.span(), message)
