/**
 * Updates a live tree to equal a fresh one, keeping every node that stays the same.
 *
 * A block arrives again with each piece of its text; selection and focus in it must survive.
 *
 * @param {Element} live
 * @param {ParentNode} fresh is used up
 */
export function morph(live, fresh) {
  const before = [...live.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, index) => place(live, before[index], node));
  before.slice(after.length).forEach((node) => node.remove());
}

/** @param {Element} parent @param {ChildNode | undefined} old @param {ChildNode} node */
function place(parent, old, node) {
  if (!old) parent.append(node);
  else if (old.isEqualNode(node)) return;
  else if (old instanceof Text && node instanceof Text) old.data = node.data;
  else if (old instanceof Element && node instanceof Element && old.tagName === node.tagName) {
    copyAttributes(old, node);
    morph(old, node);
  } else old.replaceWith(node);
}

/** @param {Element} to @param {Element} from */
function copyAttributes(to, from) {
  for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes)
    if (to.getAttribute(name) !== value) to.setAttribute(name, value);
}
