import { Link, type LinkDeclaration } from '#libs/links';

/**
 * What stands between a record of another module and a contact. The module declares it; contacts know of none: they are
 * told by `chooseContactsBy` and `importContactsInto`.
 */
export function contactLink(declared: LinkDeclaration): Link {
  return new Link({ object: 'contact', erased: 'ContactErased' }, declared);
}
