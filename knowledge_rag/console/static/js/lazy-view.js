/** A view whose code is fetched when it is first shown: the start page stays light. */
import { byId, h } from "./dom.js";
import { icon } from "./icons.js";

/** @typedef {import("./router.js").View} View */

export class LazyView {
  /** @type {View | null} */
  #view = null;
  /** @type {Promise<View> | null} */
  #loading = null;
  #isWanted = false;

  /** @param {string} id of its element @param {string} title @param {() => Promise<View>} load */
  constructor(id, title, load) {
    this.element = byId(id);
    this.name = title;
    this.load = load;
    this.loading = h("h1", { tabindex: "-1" }, title);
  }

  get title() {
    return this.#view?.title ?? this.name;
  }

  get heading() {
    return this.#view?.heading ?? this.loading;
  }

  /** @param {URL} url */
  async show(url) {
    this.#isWanted = true;
    if (!this.#view) {
      this.element.hidden = false;
      this.#loading ??= this.#fetch();
      try {
        this.#view = await this.#loading;
      } catch {
        this.#loading = null; // the next time may go well
        this.element.replaceChildren(this.loading, h("div", { class: "outcome", "data-kind": "failed" },
          h("div", { class: "outcome-mark" }, icon("offline")),
          h("div", { class: "outcome-words" }, h("p", {}, h("strong", {}, "This view can't be shown"), " The console's server can't be reached.")),
          h("button", { type: "button", class: "retry", onclick: again }, icon("retry"), "Try again")));
        return;
      }
    }
    if (this.#isWanted) await this.#view.show(url);
  }

  #fetch() {
    this.element.replaceChildren();
    return this.load();
  }

  hide() {
    this.#isWanted = false;
    this.element.hidden = true;
    this.#view?.hide();
  }
}

/** Loads the page anew once the server is back: a browser may remember that a module couldn't be fetched. */
async function again() {
  if (await fetch("/api/console").then(({ ok }) => ok, () => false)) location.reload();
}
