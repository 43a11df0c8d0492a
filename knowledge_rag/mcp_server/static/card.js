/**
 * Shows an answer's steps and the lines that they cite, in a frame of an MCP host (SEP-1865).
 *
 * It takes what the tool `ask` returned as structured content, from the frame's parent only. Words of documents become
 * text nodes, never markup. It loads nothing, links nowhere and calls no tool. A step without a citation isn't shown.
 *
 * @typedef {Record<string, unknown>} Fields
 * @typedef {Node | string | null | false} Child
 */
const VERSION = "2026-01-26";
const MOST = 400; // parts of a list that are shown

// controls, separators, private use and characters without a shape; emoji keep the selector of their looks
const HIDDEN = /[[\p{Cc}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe0f\t\n]]/gv;

const KINDS = /** @type {Fields} */ ({
  caution: "Caution: ", condition: "Condition: ", precondition: "First: ", prohibited: "Must not be done: ",
  obsolete: "No longer done: ", note: "",
});

const main = /** @type {HTMLElement} */ (document.querySelector("main"));

/** @param {keyof HTMLElementTagNameMap} tag @param {string} name @param {...(Child | Child[])} children */
function element(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.flat().filter((it) => it !== null && it !== false));
  return made;
}

/** Text as it is; characters that can't be seen, or that reverse others, are shown by their code. @param {string} text */
function words(text) {
  /** @type {Child[]} */
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(text.slice(end, match.index), element("span", "hidden-character", `U+${code}`));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}

/** @param {unknown} value @returns {Fields} */
function fields(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? /** @type {Fields} */ (value) : {};
}

/** @param {unknown} value @returns {unknown[]} */
function list(value) {
  return Array.isArray(value) ? value.slice(0, MOST) : [];
}

/** @param {unknown} value @returns {string} */
function string(value) {
  return typeof value === "string" ? value : "";
}

/** @param {unknown} value @returns {string[]} */
function strings(value) {
  return list(value).map(string).filter(Boolean);
}

/** @param {unknown} value */
function placeOf(value) {
  const { source_file: file, start_line: first, end_line: last } = fields(value);
  if (typeof file !== "string" || !file || !Number.isInteger(first) || !Number.isInteger(last)) return null;
  return { file, first: Number(first), last: Number(last) };
}

/** @param {{file: string, first: number, last: number}} place */
function named({ file, first, last }) {
  return `${file}:${first}${last > first ? `-${last}` : ""}`;
}

/** @param {unknown} cited @returns {Map<string, string[]>} the lines at each place, as many as it names */
function linesOf(cited) {
  const found = new Map();
  for (const it of Array.isArray(cited) ? cited : []) {
    const place = placeOf(it);
    const lines = string(fields(it).text).split("\n");
    if (place && lines.length === place.last - place.first + 1) found.set(named(place), lines);
  }
  return found;
}

/** A citation: its place, which opens on the lines. @param {unknown} citation @param {Map<string, string[]>} cited */
function source(citation, cited) {
  const place = placeOf(citation);
  if (!place) return null;
  const lines = cited.get(named(place));
  if (!lines) return element("p", "soft", words(named(place)));
  const shown = /** @type {HTMLOListElement} */ (element("ol", "lines"));
  shown.start = place.first;
  shown.append(...lines.map((line) => element("li", "", element("span", "", words(line.replace(/\r$/, ""))))));
  return element("details", "", element("summary", "", words(named(place))), shown);
}

/**
 * What governs a step. A condition is repeated at each step that it governs, anything else shown once in a procedure.
 * @param {unknown} value @param {Map<string, string[]>} cited @param {Set<string>} before
 */
function guard(value, cited, before) {
  const { text, kind, citation } = fields(value);
  const label = KINDS[string(kind)];
  const place = placeOf(citation);
  if (typeof label !== "string" || !place || (kind === "note" && string(text).startsWith("#"))) return [];
  if (kind !== "condition" && kind !== "precondition" && before.has(named(place))) return [];
  before.add(named(place));
  const bold = label && element("b", kind === "prohibited" ? "bad" : "", label);
  return [element("p", "", bold, words(string(text))), source(citation, cited)];
}

/** @param {unknown} value @param {Map<string, string[]>} cited @param {Set<string>} before */
function step(value, cited, before) {
  const it = fields(value);
  if (!placeOf(it.citation)) return null;
  const guards = list(it.warnings);
  const destructive = strings(it.destructive);
  return element(
    "li", "",
    guards.filter((one) => fields(one).position !== "after").flatMap((one) => guard(one, cited, before)),
    destructive.length > 0 && element("p", "bad", words(`Destructive: ${destructive.join(", ")}`)),
    element("p", "", it.number ? element("b", "", words(`${string(it.number)} `)) : null, words(string(it.action))),
    strings(it.commands).map((one) => element("pre", "", words(one))),
    guards.filter((one) => fields(one).position === "after").flatMap((one) => guard(one, cited, before)),
    [it.citation, ...list(it.further_citations)].map((one) => source(one, cited)),
  );
}

/** @param {unknown} value */
function left(value) {
  const { source_file: file, start_line: first, end_line: last, heading } = fields(value);
  if (!string(file)) return null;
  const place = placeOf({ source_file: file, start_line: first, end_line: last });
  const text = place && place.first > 0 ? named(place) : string(file);
  return element("li", "", words(heading ? `${text} (${string(heading)})` : text));
}

/** @param {string} title @param {(Child)[]} rows */
function listed(title, rows) {
  const kept = rows.filter(Boolean);
  return kept.length > 0 && element("section", "", element("h3", "", title), element("ul", "", kept));
}

/** @param {Fields} given the recommendation */
function outcome(given) {
  if (given.status === "degraded")
    return [element("p", "bad", words(`The knowledge base could not be searched (${string(given.reason)}). This says nothing about what is documented.`))];
  if (given.status !== "ok") return [element("p", "", "Nothing documented.")];
  const { strength, reasons } = fields(given.evidence);
  const why = strings(reasons).join("; ");
  return [element("p", "", element("b", "", words(`Evidence: ${string(strength)}`)), words(why && ` (${why})`))];
}

/** @param {unknown} content the tool's structured content */
function answer(content) {
  const given = fields(content);
  const advice = fields(given.recommendation);
  const cited = linesOf(given.cited_lines);
  const procedures = list(advice.procedures).map(fields);
  const steps = list(advice.guidance);
  const meant = strings(advice.meant);
  const written = steps.filter((one) => !fields(one).procedure).map((one) => step(one, cited, new Set()));
  return [
    ...outcome(given),
    ...list(given.warnings).map((it) => element("p", "soft", words(string(fields(it).message)))),
    ...procedures.map((it, at) => {
      const before = new Set();
      const own = steps.filter((one) => fields(one).procedure === at + 1).map((one) => step(one, cited, before));
      const place = placeOf(it);
      return own.some(Boolean) && element(
        "section", "",
        element("h2", "", words([string(it.alert), ...strings(it.section)].filter(Boolean).join(" > "))),
        place && element("p", "soft", words(named(place))),
        element("ol", "steps", own),
      );
    }),
    written.some(Boolean) && element(
      "section", "by-model",
      element("h2", "", "Written by a model. Only the citations come from the documents:"), element("ol", "steps", written),
    ),
    listed("Not shown", procedures.flatMap((it) => list(it.not_shown)).map(left)),
    ...list(advice.similar_incidents).map((it) => {
      const { incident_id: id, resolution, citation } = fields(it);
      return placeOf(citation) && element(
        "section", "",
        element("h3", "", words(`Similar incident: ${string(id) || "without a name"}`)),
        element("p", "", words(string(resolution))), source(citation, cited),
      );
    }),
    listed(
      meant.length > 0 ? "It could be one of these" : "Closest sections, to read, not to follow",
      list(advice.reading).map((it, at) => {
        const place = placeOf(it);
        return place && element("li", "", words(meant[at] ?? string(fields(it).section_header)), " ", source(it, cited));
      }),
    ),
    strings(advice.unknown_words).length > 0 && element("p", "soft", words(`Nothing found mentions: ${strings(advice.unknown_words).join(", ")}.`)),
  ];
}

/** @param {(Child)[]} children */
function show(children) {
  main.replaceChildren(...children.filter((it) => it !== null && it !== false));
}

/** @param {Fields} message */
function send(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // it holds nothing of the answer
}

/** @param {unknown} context */
function dress(context) {
  const { theme } = fields(context);
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
}

/** @param {Fields} message */
function take(message) {
  const params = fields(message.params);
  switch (message.method) {
    case "ui/notifications/tool-result":
      return show(params.isError === true ? [element("p", "bad", "The question was refused.")] : answer(params.structuredContent));
    case "ui/notifications/tool-cancelled":
      return show([element("p", "soft", "The question was cancelled.")]);
    case "ui/notifications/host-context-changed":
      return dress(params);
    case "ui/resource-teardown":
    case "ping":
      return send({ id: message.id, result: {} });
    case undefined:
      if (message.id !== 1 || !("result" in message)) return;
      dress(fields(message.result).hostContext);
      send({ method: "ui/notifications/initialized", params: {} });
      new ResizeObserver(() => {
        const { scrollWidth: width, scrollHeight: height } = document.documentElement;
        send({ method: "ui/notifications/size-changed", params: { width, height } });
      }).observe(document.body);
  }
}

window.addEventListener("message", (event) => {
  const message = fields(event.data);
  if (event.source === window.parent && message.jsonrpc === "2.0") take(message);
});
show([element("p", "soft", "Waiting for the answer ...")]);
send({
  id: 1, method: "ui/initialize",
  params: { appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] }, appInfo: { name: "knowledge-rag", version: "1" }, protocolVersion: VERSION },
});

export {};
