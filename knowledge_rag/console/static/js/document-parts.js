/** What stands around a file's lines. */
import { lineHash } from "./citations.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { plainName, typeText } from "./wording.js";

/** @param {any} document as `/api/document` gives it */
export function documentHead({ source, metadata = {}, sourceUrl, repositoryUrl, ranges = [] }) {
  return [
    h("p", { class: "where" }, h("span", { class: "path" }, source)),
    h("p", { class: "tags" },
      metadata.document_type ? h("span", { class: "tag" }, typeText(metadata.document_type)) : null,
      Object.entries(metadata).filter(([name]) => name !== "document_type").map(([name, value]) =>
        h("span", { class: "fact" }, h("span", {}, plainName(name)), " ", [value].flat().join(", "))),
      repositoryUrl ? outside(ranges[0]?.repositoryUrl ?? repositoryUrl, "In the repository") : null,
      sourceUrl ? outside(sourceUrl, "Original page") : null),
  ];
}

/** @param {string} href @param {string} words */
function outside(href, words) {
  return h("a", { href, rel: "noopener noreferrer", target: "_blank" }, words, icon("open"));
}

/**
 * @param {any} document
 * @param {[number, number] | null} range that was asked for
 */
export function notices({ file, ranges = [], isComplete, lines, hidden = {} }, range) {
  const stale = ranges[0]?.stale;
  const found = [];
  const isWhole = range && !lines.slice(range[0] - 1, range[1]).includes(null);
  if (file === "gone") found.push(["The file is gone.", "Shown is what was read from it when it was ingested."]);
  else if (file === "changed") found.push(["The file has changed since it was ingested.", stale?.message ?? (isWhole ? "These lines are still the same." : "Shown is what was ingested.")]);
  else if (stale) found.push(["The document was ingested anew.", stale.message]);
  if (range && range[0] > lines.length) found.push([`There is no line ${range[0]}.`, `The file has ${lines.length} lines.`]);
  const secret = Object.keys(hidden);
  if (secret.length) found.push(["Hidden characters.", `Shown by their code: line${secret.length === 1 ? "" : "s"} ${listed(secret)}.`]);
  if (isComplete === false) found.push(["Only what can be found was kept.", "Blank lines and front matter are empty here."]);
  return found.map(([title, text]) => h("p", { class: "notice" }, icon("warning"), h("span", {}, h("strong", {}, title), " ", text)));
}

/** @param {string[]} numbers */
function listed(numbers) {
  return numbers.slice(0, 12).join(", ") + (numbers.length > 12 ? " …" : "");
}

/** @param {{line: number, level: number, title: string}[]} sections */
export function outline(sections) {
  return [
    h("h2", {}, "In this file"),
    h("ol", {}, sections.map(({ line, level, title }) =>
      h("li", { class: `level-${Math.min(level, 4)}` }, h("a", { href: lineHash(line, line) }, title)))),
  ];
}

/** @param {import("./api.js").RequestFailed} error @param {() => void} retry */
export function missing(error, retry) {
  const isUnknown = error.status === 404;
  return h("div", { class: "outcome", "data-kind": isUnknown ? "nothing" : "failed" },
    h("div", { class: "outcome-mark" }, icon(isUnknown ? "search" : "offline")),
    h("div", { class: "outcome-words" },
      h("p", {}, h("strong", {}, isUnknown ? "No such document" : "The document can't be shown"), " ",
        isUnknown ? "Nothing of this name was ingested." : error.message)),
    isUnknown ? h("span") : h("button", { type: "button", class: "retry", onclick: retry }, icon("retry"), "Try again"));
}
