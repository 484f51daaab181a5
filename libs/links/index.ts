export { Link, type LinkDeclaration, type LinkState, type Subject } from './link.js';
export { countAt, LINK_BYTES, LINK_DETAIL, linkedTo, type LinkRow, LinkTable } from './link-table.js';
