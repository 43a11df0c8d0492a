/** Switches between views without loading the page again, so that an answer stays as it was. */

/**
 * @typedef {{element: HTMLElement, title: string, heading: HTMLElement, show(url: URL): void | Promise<void>, hide(): void}} View
 */

export class Router {
  /** @type {View | null} */
  #current = null;
  /** @type {WeakMap<View, Element | null>} where the focus was in each view */
  #left = new WeakMap();

  /** @param {(url: URL) => View} viewOf */
  constructor(viewOf) {
    this.viewOf = viewOf;
    history.scrollRestoration = "manual";
    document.addEventListener("click", (event) => this.#click(event));
    window.addEventListener("popstate", (event) => this.#enter(new URL(location.href), event.state?.scroll ?? 0));
    this.#enter(new URL(location.href), null);
  }

  /** @param {string} href */
  go(href) {
    const url = new URL(href, location.href);
    history.replaceState({ ...history.state, scroll: scrollY }, "");
    history.pushState({}, "", url);
    this.#enter(url, null);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const link = /** @type {Element} */ (event.target).closest("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented) return;
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!isPlain || link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
    if (link.hash && link.pathname === location.pathname && !link.pathname.startsWith("/doc/")) return;
    event.preventDefault();
    this.go(link.href);
  }

  /**
   * @param {URL} url
   * @param {number | null} scroll where the reader was before; null for a view that is new
   */
  async #enter(url, scroll) {
    const view = this.viewOf(url);
    const before = this.#current;
    if (before && before !== view) {
      this.#left.set(before, document.activeElement);
      before.hide();
    }
    this.#current = view;
    document.title = view.title;
    if (before !== view) showCurrent(url);
    await view.show(url);
    if (this.#current !== view || before === view) return;
    document.title = view.title.includes("Knowledge RAG") ? view.title : `${view.title} – Knowledge RAG`;
    this.#settle(view, scroll, before !== null);
  }

  /** @param {View} view @param {number | null} scroll @param {boolean} focus */
  #settle(view, scroll, focus) {
    const left = this.#left.get(view);
    if (scroll !== null && view.element.id !== "document-view") window.scrollTo(0, scroll);
    else if (!location.hash) window.scrollTo(0, 0);
    if (!focus) return;
    const target = scroll !== null && left instanceof HTMLElement && left.isConnected ? left : view.heading;
    target.focus({ preventScroll: true });
  }
}

/** @param {URL} url */
function showCurrent(url) {
  for (const link of document.querySelectorAll(".top nav a")) {
    const isOwn = link.getAttribute("href") === url.pathname;
    if (isOwn) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
