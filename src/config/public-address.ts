/** Where people outside reach this server: what stands in mails leads there. */
export class PublicAddress {
  /**
   * @param url without a slash at its end.
   * @param isKnown false where it is only guessed, and nobody outside may reach it.
   * @param hasSite whether the public site is served there.
   */
  constructor(
    readonly url: string,
    readonly isKnown: boolean,
    readonly hasSite: boolean,
  ) {}
}
