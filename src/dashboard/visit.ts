import { type Type } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { Requests } from '#libs/commands';
import { type Html } from '#libs/pages';
import { allowLongBody, openStream, type Page as PageOfRecords, RpcError } from '#libs/rpc';
import { type Page, pageOf } from './document.js';
import { type Member, type People } from './people.js';
import { type ScriptName } from './scripts.js';
import { type Section } from './sections.js';
import { readUpload, type Upload } from './upload.js';
import { type Words } from './words/index.js';

/** Why what a form asked for was not done. */
export type Refusal = {
  status: number;
  /** What is wrong with which field, in the words of the page. */
  faults: { field: string; text: string }[];
  /** What stands against the whole. */
  text: string | undefined;
};

type Options = {
  words: Words;
  person: Member;
  people: People;
  request: Request;
  response: Response;
  params: Readonly<Record<string, string>>;
  form: URLSearchParams;
  find: <T>(type: Type<T>) => T;
  /** @throws RpcError where they may not be here any more. */
  requireStill: () => Promise<void>;
};

/** What a page of an organization is made of: who has opened it, with which address, and what was filled in. */
export class Visit {
  readonly words: Words;
  readonly person: Member;
  readonly request: Request;
  readonly response: Response;
  /** The ids in the address, by their names in the page's path. */
  readonly params: Readonly<Record<string, string>>;
  /** What was filled in; of a form with a file what stands before it, once that is read. */
  form: URLSearchParams;
  /** Of the form that was refused, to be shown with it. */
  refusal: Refusal | undefined;
  /** The page is shown once more with what was typed, though nothing was wrong. */
  private isShownAgain = false;
  private hasSeenChange = false;
  private askedWhether: string | undefined;
  /** What fields are called, as far as the page has been made: faults are told with it. */
  readonly labels = new Map<string, string>();
  /** Something on the page is under way: who runs no scripts sees it move on, too. */
  refreshSeconds: number | undefined;
  /** How many records a form would change, where that was asked first. */
  found: number | undefined;
  private runs = 0;
  private readonly unfinished: Promise<unknown>[] = [];

  constructor(private readonly options: Options) {
    ({
      words: this.words,
      person: this.person,
      request: this.request,
      response: this.response,
      params: this.params,
      form: this.form,
    } = { ...options, form: inLines(options.form) });
  }

  /** Whether fields show what was typed, in place of what is stored. */
  private get isTyped(): boolean {
    return this.refusal !== undefined || this.isShownAgain;
  }

  get organizationId(): string {
    return this.person.organization.id;
  }

  may(scope: string): boolean {
    return this.person.may(scope);
  }

  /** The address of a page of the organization. */
  path(end = ''): string {
    return `/dashboard/${this.organizationId}${end === '' || end.startsWith('?') ? end : `/${end}`}`;
  }

  /** What the address asks for. Not of the whole of it: a client may write before its path what is no address. */
  get search(): URLSearchParams {
    const { originalUrl } = this.request;
    const at = originalUrl.indexOf('?');
    return new URLSearchParams(at < 0 ? '' : originalUrl.slice(at));
  }

  /** The address of this page, with another query. */
  withQuery(change: Record<string, string | null>): string {
    const { path: pathname } = this.request;
    const searchParams = this.search;
    searchParams.delete('done');
    for (const [name, value] of Object.entries(change)) {
      if (value === null) searchParams.delete(name);
      else searchParams.set(name, value);
    }
    const query = searchParams.toString();
    return query === '' ? pathname : `${pathname}?${query}`;
  }

  /** Of the address; what stands there twice does not count. */
  readonly query = (name: string): string | undefined => {
    const value = this.request.query[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };

  /** What the form says of a field, without what surrounds it; null where that is nothing. */
  typed(name: string): string | null {
    const value = this.form.get(name)?.trim();
    return value === undefined || value === '' ? null : value;
  }

  /** What a field shows: what was typed, where the form was refused. */
  valueOf(name: string, stored: string | null | undefined): string {
    return (this.isTyped ? this.form.get(name) : stored) ?? '';
  }

  /** Whether a box is ticked: of a form that was refused, whether it was. */
  isTicked(name: string, stored: boolean, value = 'true'): boolean {
    return this.isTyped ? this.form.getAll(name).includes(value) : stored;
  }

  /**
   * That nobody has changed the record since its form was shown.
   *
   * @throws RpcError BAD_REQUEST where somebody has: the form is shown once more, and sent again it counts.
   */
  requireSame(record: { updatedAt: string | Date }): void {
    const since = this.form.get('since');
    if (since === null || since === versionOf(record)) return;
    this.hasSeenChange = true;
    throw new RpcError('BAD_REQUEST', this.words.changedMeanwhile);
  }

  /** As what its form knows a record. */
  sinceOf(record: { updatedAt: string | Date }): string {
    return (this.hasSeenChange ? null : this.form.get('since')) ?? versionOf(record);
  }

  /**
   * That somebody wants what they ask for, though they know of something that may speak against it.
   *
   * @param what they ask for: of anything else they are told anew.
   * @throws RpcError BAD_REQUEST where they were not told: the form is shown once more with `why`, and sent again it counts.
   */
  requireSure(what: string, why: string): void {
    if (this.form.get('sure') === what) return;
    this.askedWhether = what;
    throw new RpcError('BAD_REQUEST', why);
  }

  /** Of what its form knows that they were told. */
  get sureOf(): string | null {
    return this.askedWhether ?? (this.isTyped ? this.form.get('sure') : null);
  }

  /** A provider of another module, for what no operation answers. */
  find<T>(type: Type<T>): T {
    return this.options.find(type);
  }

  /**
   * What an operation answers. The same form, sent twice, is done once.
   *
   * @param fields as an address has them where it reads, as JSON has them where it changes something. Undefined ones are left out.
   * @throws RpcError as the operation does.
   */
  async run<Answer>(
    name: string,
    fields: Record<string, unknown> = {},
    body?: { mediaType: string; contentType: string; bytes: AsyncIterable<Uint8Array> },
  ): Promise<Answer> {
    const { people, request } = this.options;
    const { beforeAnswer } = this;
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const idempotencyKey = this.markOf(name, (this.runs += 1));
    try {
      return await people.run<Answer>(name, this.person, given, {
        request,
        idempotencyKey,
        body,
        beforeAnswer,
      });
    } catch (error) {
      // They went back, and filled in something else: it is another form.
      if (!(error instanceof RpcError) || error.code !== 'IDEMPOTENCY_KEY_REUSED') throw error;
      return people.run<Answer>(name, this.person, given, { request, body, beforeAnswer });
    }
  }

  /** What this form has made where it was sent before: by the operation that it runs first. */
  async madeBefore(name: string): Promise<string | undefined> {
    const mark = this.markOf(name, 1);
    return mark && (await this.find(Requests).findRecord(this.organizationId, mark));
  }

  private markOf(name: string, run: number): string | undefined {
    const once = this.form.get('once');
    return once === null ? undefined : `form ${this.person.session.userId} ${once} ${name} ${run}`;
  }

  private readonly beforeAnswer = (work: Promise<unknown>): void => {
    // Where the page fails first nobody waits for it any more.
    work.catch(() => undefined);
    this.unfinished.push(work);
  };

  /** What must be done before anybody sees the page, is. @throws as that does. */
  async finished(): Promise<void> {
    await Promise.all(this.unfinished);
  }

  /** A page of records, as the address says which. */
  async list<Listed>(
    by: string | Lister<Listed>,
    fields: Record<string, unknown> = {},
  ): Promise<ListedPage<Listed>> {
    const cursor = this.query('cursor');
    const { records, pagination } = await this.listOnce<Listed>(by, { limit: 50, ...fields, cursor });
    return { records, next: pagination.cursor, isFirst: cursor === undefined };
  }

  /** @param by an operation, by its name, or what lists as one does. */
  listOnce<Listed>(by: string | Lister<Listed>, asked: Asked): Promise<PageOfRecords<Listed>> {
    return typeof by === 'string' ? this.run<PageOfRecords<Listed>>(by, asked) : by(this, asked);
  }

  /**
   * The file of a form, to be read once; undefined where none was chosen. The fields of the form stand before it.
   *
   * @throws RpcError BAD_REQUEST where it is no such form; RATE_LIMIT_EXCEEDED where too many bring files.
   */
  async upload(): Promise<Upload | undefined> {
    openStream(this.request, this.response);
    allowLongBody(this.request, this.response);
    const { fields, file } = await readUpload(this.request);
    this.form = inLines(fields);
    return file && { ...file, bytes: this.stillWith(file.bytes) };
  }

  /** A file takes as long as somebody likes: at its end they are looked at again, before anything is done with it. */
  private async *stillWith(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* bytes;
    await this.options.requireStill();
  }

  /** What `act` answers where the form only wants to see what was typed. */
  again(): { isShownAgain: true } {
    this.isShownAgain = true;
    return { isShownAgain: true };
  }

  /** The page, with what has just happened, and why nothing has. */
  page(options: {
    title: string;
    /** Where it is not the title. */
    heading?: string;
    content: Html;
    section?: Section;
    back?: { href: string; text: string };
    scripts?: readonly ScriptName[];
    status?: number;
  }): Page {
    const { words, person, refusal, refreshSeconds } = this;
    const { title, status = refusal?.status } = options;
    return pageOf({
      ...options,
      words,
      person,
      title: refusal ? `${words.faults.prefix}${title}` : title,
      heading: options.heading ?? title,
      ...(status === undefined ? {} : { status }),
      done: refusal ? undefined : doneIn(words, this.query('done')),
      refreshSeconds,
    });
  }
}

export type Asked = { limit: number; cursor: string | undefined; q?: unknown };

/** Lists what no operation knows, as operations do. */
export type Lister<Listed> = (visit: Visit, asked: Asked) => Promise<PageOfRecords<Listed>>;

export type ListedPage<Listed> = {
  records: Listed[];
  /** Where the page after this one begins; null where there is none. */
  next: string | null;
  isFirst: boolean;
};

/** Browsers send the lines of a text with two characters between them; everybody else writes one. */
function inLines(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams(
    [...form].map(([name, value]): [string, string] => [name, value.replace(/\r\n?/g, '\n')]),
  );
}

/** Operations that are run here answer with moments; as JSON they have texts. */
function versionOf({ updatedAt }: { updatedAt: string | Date }): string {
  return new Date(updatedAt).toISOString();
}

/** By its name, such as `contacts.created`: what addresses say is never shown itself. */
function doneIn(words: Words, name: string | undefined): string | undefined {
  const [section = '', what = ''] = (name ?? '').split('.');
  const all = (Object.hasOwn(words, section) ? words[section as keyof Words] : undefined) as
    | { done?: Record<string, string> }
    | undefined;
  return all?.done && Object.hasOwn(all.done, what) ? all.done[what] : undefined;
}
