/** The address at which clients reach this server. Links in emails use it. */
export class PublicAddress {
  /**
   * @param url without a trailing slash.
   * @param isKnown false if it is a guess that may not be reachable from outside.
   * @param hasSite whether the public site is served.
   */
  constructor(
    readonly url: string,
    readonly isKnown: boolean,
    readonly hasSite: boolean,
  ) {}
}
