/** The parts around a file's lines: facts, notices, errors. */
import { isConverted, linesText } from "./citations.js";
import { counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { plainName, typeText } from "./wording.js";

/**
 * @typedef {import("./lines.js").Range} Range
 *
 * @typedef {object} Contents what is not sent again to a page that has this version of it
 * @property {(string | null)[]} lines null for one that was not kept
 * @property {{line: number, page: number}[]} pages where each page of a PDF begins
 * @property {import("./document-outline.js").Section[]} sections
 * @property {Record<string, object[]>} hidden characters, by the number of their line
 *
 * @typedef {object} Facts
 * @property {string} version
 * @property {string} source
 * @property {string} title
 * @property {Record<string, string | number | string[]>} metadata
 * @property {boolean} isComplete
 * @property {{start: number, end: number, repositoryUrl?: string, stale?: {message: string}}[]} ranges
 * @property {"same" | "changed" | "gone"} [file]
 * @property {string} [sourceUrl]
 * @property {string} [repositoryUrl]
 *
 * @typedef {Contents & Facts & {unchecked?: string}} ShownDocument
 */

/** @param {ShownDocument} document @param {Range | null} range that is looked at */
export function documentHead(document, range) {
  const { source, metadata, sourceUrl, repositoryUrl } = document;
  return [
    h("p", { class: "where" }, h("span", { class: "path" }, source)),
    h("p", { class: "tags" },
      metadata.document_type ? h("span", { class: "tag" }, typeText(String(metadata.document_type))) : null,
      Object.entries(metadata).filter(([name]) => name !== "document_type").map(([name, value]) =>
        h("span", { class: "fact" }, h("span", {}, plainName(name)), " ", [value].flat().join(", "))),
      repositoryUrl ? outside(findingsOn(document, range)?.repositoryUrl ?? repositoryUrl, "In the repository") : null,
      sourceUrl ? outside(sourceUrl, "Original page") : null),
  ];
}

/** The server's findings about exactly these lines. @param {ShownDocument} document @param {Range | null} range */
function findingsOn({ ranges }, range) {
  return ranges.find(({ start, end }) => range && start === range[0] && end === range[1]);
}

/** @param {string} href @param {string} words */
function outside(href, words) {
  return h("a", { href, rel: "noopener noreferrer", target: "_blank" }, words, icon("open"));
}

/**
 * @param {ShownDocument} document
 * @param {Range | null} asked the lines that were asked for
 * @param {Range | null} range those of them that there are
 */
export function notices(document, asked, range) {
  const { file, isComplete, lines, hidden, unchecked } = document;
  const stale = findingsOn(document, range)?.stale;
  const found = [];
  if (file === "gone") found.push(["The file is gone.", "Shown is what was read from it when it was ingested."]);
  else if (file === "changed") found.push(["The file has changed since it was ingested.", verdict(document, range)]);
  else if (stale) found.push(["The document was ingested anew.", stale.message]);
  if (unchecked) found.push(["Not compared with the file as it is now.", unchecked]);
  if (asked && !range) found.push([`There is no line ${asked[0]}.`, `The file has ${counted(lines.length, "line")}.`]);
  else if (asked && range && range[1] < asked[1]) found.push([`There is no line ${asked[1]}.`, `The file has ${counted(lines.length, "line")}: marked is what there is of them.`]);
  const secret = Object.keys(hidden);
  if (secret.length) found.push(["Hidden characters.", `Shown by their code: line${secret.length === 1 ? "" : "s"} ${listed(secret)}.`]);
  if (isConverted(document.source)) found.push(["Extracted text.", "The file has no lines of its own: these are the lines of the text that was read from it."]);
  if (!isComplete) found.push(["Only what can be found was kept.", "Blank lines and front matter are empty here."]);
  return found.map(([title, text]) => h("p", { class: "notice" }, icon("warning"), h("span", {}, h("strong", {}, title), " ", text)));
}

/** The state of lines of a file that has changed. @param {ShownDocument} document @param {Range | null} range */
function verdict(document, range) {
  const findings = findingsOn(document, range);
  if (range && !findings) return document.unchecked ? "" : `Comparing ${linesText(...range)} …`;
  if (findings?.stale) return findings.stale.message;
  // a line that was not kept can't be compared
  const isKnown = range && !document.lines.slice(range[0] - 1, range[1]).includes(null);
  if (isKnown) return range[0] === range[1] ? `Line ${range[0]} is still the same.` : `Lines ${range[0]}–${range[1]} are still the same.`;
  return "Shown is what was ingested.";
}

/** @param {string[]} numbers */
function listed(numbers) {
  return numbers.slice(0, 12).join(", ") + (numbers.length > 12 ? " …" : "");
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
