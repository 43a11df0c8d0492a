/** What was pasted, as an alert: its name, how bad it is, whom it concerns, since when, and its runbook. */
import { h } from "./dom.js";
import { visible } from "./visible-text.js";

/**
 * @typedef {{name: string, severity: string, service: string, since: string, said: string}} AlertRow
 * @typedef {{text: string, url?: string, source?: string}} Runbook
 * @typedef {{name: string, readAs: string, since: string, alerts: AlertRow[], runbooks: Runbook[], problems: string[]}} AlertCard
 */

const BAD = /^(?:crit|emerg|fatal|disaster|page|high|urgent|alarm|error|sev-?[01]\b|p-?[01]\b|1$)/i;
const WARNING = /^(?:warn|medium|moderate|average|sev-?2\b|p-?2\b|2$)/i;

/** JSON, or the start of some: never a heading. @param {string} text */
export function looksPasted(text) {
  return /^\s*(?:\{|\[\s*[{["])/.test(text);
}

/** @param {AlertCard} card @param {{alert: string, status: string}[]} documented whether each of a group is */
export function alertCard(card, documented) {
  const isGroup = card.alerts.length > 1;
  return h("section", { class: "alert-card", "aria-label": isGroup ? "Alerts" : "Alert" },
    h("ul", {}, card.alerts.map((alert) => row(alert, isGroup, documented.find((one) => one.alert === alert.name)))),
    card.runbooks.length ? h("p", { class: "alert-runbooks" }, h("b", {}, "Linked runbook"), " ", card.runbooks.map(runbook)) : null,
    h("p", { class: "alert-read" }, card.readAs ? ["Read as ", ...visible(card.readAs)] : "Read as an incident",
      card.problems.length ? [". Not read: ", ...visible(card.problems.join("; "))] : null));
}

/** @param {AlertRow} alert @param {boolean} isGroup @param {{status: string} | undefined} found */
function row({ name, severity, service, since, said }, isGroup, found) {
  const level = BAD.test(severity) ? "bad" : WARNING.test(severity) ? "warning" : "";
  return h("li", {},
    h("p", { class: "alert-facts" },
      severity ? h("span", { class: `severity ${level}` }, h("span", { class: "visually-hidden" }, "Severity "), ...visible(severity)) : null,
      isGroup ? h("b", {}, ...visible(name)) : null,
      service ? h("span", {}, "Service ", h("b", {}, ...visible(service))) : null,
      since ? h("span", {}, "Since ", moment(since)) : null,
      found && found.status !== "ok" ? h("span", { class: "undocumented" }, found.status === "no_match" ? "nothing documented" : "not looked up") : null),
    said ? h("p", { class: "alert-said", dir: "auto" }, ...visible(said)) : null);
}

/** @param {string} iso */
export function moment(iso) {
  const said = iso.replace("T", " ").replace(/:\d\d(?:\.\d+)?(?:Z|\+00:00)$/, " UTC");
  return h("time", { datetime: iso, title: new Date(iso).toLocaleString() }, said);
}

/** @param {Runbook} link */
function runbook({ text, url, source }) {
  const shown = visible(source ?? text);
  if (!url) return h("span", { class: "path" }, ...shown);
  const outside = source ? {} : { target: "_blank", rel: "noopener noreferrer" };
  return h("a", { class: "path", href: url, title: text, ...outside }, ...shown);
}
