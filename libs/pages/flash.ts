/** The parameter with the name of a confirmation. */
export const FLASH = 'done';

/** The address of a page that confirms an action, and that can be reloaded. @param name see `flashIn` */
export function withFlash(address: string, name: string | undefined): string {
  return name === undefined ? address : `${address}${address.includes('?') ? '&' : '?'}${FLASH}=${name}`;
}

/** The confirmation with a name such as `contacts.created`, from `contacts.done`. Text from the address is never shown. */
export function flashIn(words: object, name: string | undefined): string | undefined {
  const [section = '', what = ''] = (name ?? '').split('.');
  const done = own(own(words, section), 'done');
  const text = own(done, what);
  return typeof text === 'string' ? text : undefined;
}

function own(words: unknown, name: string): unknown {
  const isThere = typeof words === 'object' && words !== null && Object.hasOwn(words, name);
  return isThere ? (words as Record<string, unknown>)[name] : undefined;
}
