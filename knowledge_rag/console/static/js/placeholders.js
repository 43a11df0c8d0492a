/**
 * Placeholders of an answer's commands, such as `<cluster-id>`: typed once, filled in wherever they stand. The values
 * never leave this tab, and what is filled in is marked: the documents have the placeholder.
 */
import { counted, h } from "./dom.js";
import { keep, kept } from "./storage.js";

const PLACEHOLDER = /<([A-Za-z][\w .:|-]{0,60})>/g;
const KEY = "placeholders";
const LONGEST = 500;
/** Controls, and characters that change the direction of others: nobody would see them in a command. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * @param {string} text of a command
 * @param {(words: string) => (string | HTMLElement)[]} words of the text between placeholders
 * @returns {(string | HTMLElement)[]}
 */
export function withPlaceholders(text, words) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (text.includes(`</${match[1]}>`)) continue; // markup
    nodes.push(...words(text.slice(end, match.index)), h("span", { class: "placeholder word", "data-name": match[0] }, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, ...words(text.slice(end))];
}

export class Placeholders {
  /** @type {Map<string, string>} */
  #values = new Map();
  /** @type {string} */
  #answer = "";
  /** @type {string[]} */
  #names = [];

  /** @param {HTMLElement} root holds the commands */
  constructor(root) {
    this.root = root;
    this.title = h("summary");
    this.fields = h("div", { class: "fill-fields" });
    this.element = h("details", { class: "fill", hidden: true }, this.title, this.fields,
      h("p", { class: "hint" }, "Filled in here, in this tab alone. Commands and their copies use it; citations and exports keep the documents’ own words."));
    root.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Another answer: its commands may mean other things by the same name. @param {string} answer its id, "" for none */
  begin(answer) {
    const all = kept("sessionStorage", KEY);
    const values = all?.answer === answer && answer ? Object.entries(all.values ?? {}) : [];
    this.#answer = answer;
    this.#values = new Map(values.filter((one) => typeof one[1] === "string"));
    this.#names = [];
    this.fields.replaceChildren();
    this.element.hidden = true;
    this.element.removeAttribute("open");
  }

  /** An answer that was just written has got its name. @param {string} answer */
  rename(answer) {
    if (answer === this.#answer) return;
    if (this.#answer) this.begin(answer);
    else this.#answer = answer;
  }

  /** Fills in what is known, in all commands. */
  fill() {
    for (const span of this.root.querySelectorAll(".placeholder")) {
      const name = span.getAttribute("data-name") ?? "";
      const value = this.#values.get(name) ?? "";
      span.classList.toggle("filled", value !== "");
      span.textContent = value || name;
      if (value) span.setAttribute("title", `Filled in by you. The document has ${name}`);
      else span.removeAttribute("title");
    }
    for (const box of this.root.querySelectorAll(".code")) this.#note(box);
  }

  /** Offers a field for each placeholder, where there are any. */
  offer() {
    const names = [...new Set([...this.root.querySelectorAll(".placeholder")].map((one) => one.getAttribute("data-name") ?? ""))];
    this.element.hidden = names.length === 0;
    if (names.join() !== this.#names.join()) {
      this.#names = names;
      this.fields.replaceChildren(...names.map((name) => this.#field(name)));
    }
    this.#entitle();
  }

  #entitle() {
    const open = this.#names.filter((name) => !this.#values.get(name)).length;
    this.title.textContent = open ? `Fill in ${counted(open, "placeholder")}` : `${counted(this.#names.length, "placeholder")} filled in`;
  }

  /** @param {string} name */
  #field(name) {
    const input = h("input", {
      type: "text", maxlength: LONGEST, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      value: this.#values.get(name) ?? "", oninput: () => this.#set(name, input.value),
    });
    return h("label", {}, h("code", {}, name), input);
  }

  /** @param {string} name @param {string} typed */
  #set(name, typed) {
    const value = typed.replace(UNSEEN, "").trim();
    if (value) this.#values.set(name, value);
    else this.#values.delete(name);
    keep("sessionStorage", KEY, { answer: this.#answer, values: Object.fromEntries(this.#values) });
    this.fill();
    this.#entitle();
  }

  /** @param {Element} box */
  #note(box) {
    const filled = new Map([...box.querySelectorAll(".filled")].map((one) => [one.getAttribute("data-name"), one.textContent]));
    box.querySelector(".filled-note")?.remove();
    if (!filled.size) return;
    const said = [...filled].map(([name, value]) => `${value} for ${name}`).join(", ");
    box.append(h("p", { class: "filled-note" }, `Filled in by you: ${said}`));
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const span = /** @type {Element} */ (event.target).closest(".placeholder");
    if (!span || this.element.hidden || getSelection()?.toString()) return;
    this.element.setAttribute("open", "");
    const at = this.#names.indexOf(span.getAttribute("data-name") ?? "");
    this.fields.querySelectorAll("input")[at]?.focus();
  }
}
