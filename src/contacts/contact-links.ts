import { Link, type LinkDeclaration } from '#libs/links';

/**
 * A link between a record of another module and a contact. The other module declares it and registers it with
 * `chooseContactsBy` and `importContactsInto`, so this module does not depend on it.
 */
export function contactLink(declared: LinkDeclaration): Link {
  return new Link({ object: 'contact', erased: 'ContactErased' }, declared);
}
