import { type Request } from 'express';
import { FLASH } from '#libs/pages';

/** The address of a page, and addresses of other pages of the organization. */
export class Address {
  constructor(
    private readonly request: Request,
    private readonly organizationId: string,
    /** The ids in the address, by parameter name. */
    readonly params: Readonly<Record<string, string>>,
  ) {}

  /** The address of a page of the organization. */
  path(end = ''): string {
    return `/dashboard/${this.organizationId}${end === '' || end.startsWith('?') ? end : `/${end}`}`;
  }

  /** The address of this page without its query. */
  get pathname(): string {
    return this.request.path;
  }

  /** The query string. Not parsed from the whole URL, because clients may send an invalid one. */
  get search(): URLSearchParams {
    const { originalUrl } = this.request;
    const at = originalUrl.indexOf('?');
    return new URLSearchParams(at < 0 ? '' : originalUrl.slice(at));
  }

  /** The address of this page, with another query. */
  withQuery(change: Record<string, string | null>): string {
    const searchParams = this.search;
    searchParams.delete(FLASH);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) searchParams.delete(name);
      else searchParams.set(name, value);
    }
    const query = searchParams.toString();
    return query === '' ? this.pathname : `${this.pathname}?${query}`;
  }

  /** A query parameter. Repeated and empty parameters are ignored. */
  readonly query = (name: string): string | undefined => {
    const value = this.request.query[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
}
