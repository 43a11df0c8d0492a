/**
 * Line icons on a grid of 24, drawn for this page.
 *
 * @typedef {keyof typeof PATHS} IconName
 */
import { svg } from "./dom.js";

const PATHS = {
  sun: "M12 8a4 4 0 1 0 0 8a4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  tick: "M4.5 12.5l5 5L19.5 7",
  cross: "M6 6l12 12M18 6L6 18",
  warning: "M12 4L2.8 20h18.4zM12 10v4.5M12 17.3v.2",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM15.5 15.5L20.5 20.5",
  offline: "M4 4l16 16M8.5 14.5a5 5 0 0 1 5-1.4M5 11a10 10 0 0 1 4-2.4M13 8a10 10 0 0 1 6 3M12 18.5v.2",
  stop: "M6.5 6.5h11v11h-11z",
  flag: "M5 21V4M5 4h11l-2 4l2 4H5",
  link: "M10 14l4-4M8.5 11.5l-2 2a3.5 3.5 0 0 0 5 5l2-2M15.5 12.5l2-2a3.5 3.5 0 0 0-5-5l-2 2",
  open: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  back: "M10 6l-6 6l6 6M4 12h16",
  up: "M12 20V5M6 11l6-6l6 6",
  retry: "M20 5v5h-5M19.5 10A8 8 0 1 0 20 13.5",
  save: "M12 4v11M7 11l5 5l5-5M4 20h16",
};

/**
 * @param {IconName} name
 * @returns {SVGElement} hidden from screen readers: the words beside it say the same
 */
export function icon(name) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }),
  );
}
