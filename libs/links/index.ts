export { type Counted, type Facts, Link, type LinkDeclaration, type LinkState } from './link.js';
export {
  activeAt,
  countAt,
  existedAt,
  LINK_BYTES,
  LINK_DETAIL,
  stoodAt,
  WIDEST_LINK,
  linkedFrom,
  linkedTo,
  type LinkRow,
  LinkTable,
} from './link-table.js';
