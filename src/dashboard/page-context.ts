import { type Type } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { Requests } from '#libs/commands';
import { FLASH, flashIn, type Html, type Page } from '#libs/pages';
import {
  allowLongBody,
  openStream,
  type Page as PageOfRecords,
  RpcError,
  type StreamedBody,
} from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { pageOf } from './document.js';
import { type Member, type People } from './people.js';
import { type ScriptName } from './scripts.js';
import { type Section } from './sections.js';
import { readUpload, type Upload } from './upload.js';

/** Why a form was rejected. */
export type Refusal = {
  status: number;
  /** Errors of fields, in the language of the page. */
  faults: { field: string; text: string }[];
  /** An error that concerns the whole form. */
  text: string | undefined;
};

type Options = {
  words: DashboardWords;
  person: Member;
  people: People;
  request: Request;
  response: Response;
  params: Readonly<Record<string, string>>;
  form: URLSearchParams;
  find: <T>(type: Type<T>) => T;
  /** @throws RpcError if the person may no longer use the page. */
  requireStill: () => Promise<void>;
};

/** The context of a page: the person, the address and the form. */
export class PageContext {
  readonly words: DashboardWords;
  readonly person: Member;
  readonly request: Request;
  readonly response: Response;
  /** The ids in the address, by parameter name. */
  readonly params: Readonly<Record<string, string>>;
  /** The form's fields. For an upload, they are available after `upload()`. */
  form: URLSearchParams;
  /** The errors to show with the form, if it was rejected. */
  refusal: Refusal | undefined;
  /** The page is shown again with the typed input, although there was no error. */
  private isShownAgain = false;
  private hasConflict = false;
  private shownWarning: string | undefined;
  /** Labels of the fields rendered so far. Errors are shown with them. */
  readonly labels = new Map<string, string>();
  /** Reload interval while something is in progress, for browsers without scripts. */
  refreshSeconds: number | undefined;
  /** How many records the form would change, after a dry run. */
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

  /** Whether fields show the typed input instead of the stored values. */
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

  /** The query string. Not parsed from the whole URL, because clients may send an invalid one. */
  get search(): URLSearchParams {
    const { originalUrl } = this.request;
    const at = originalUrl.indexOf('?');
    return new URLSearchParams(at < 0 ? '' : originalUrl.slice(at));
  }

  /** The address of this page, with another query. */
  withQuery(change: Record<string, string | null>): string {
    const { path: pathname } = this.request;
    const searchParams = this.search;
    searchParams.delete(FLASH);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) searchParams.delete(name);
      else searchParams.set(name, value);
    }
    const query = searchParams.toString();
    return query === '' ? pathname : `${pathname}?${query}`;
  }

  /** A query parameter. Repeated and empty parameters are ignored. */
  readonly query = (name: string): string | undefined => {
    const value = this.request.query[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };

  /** The trimmed value of a form field; null if empty. */
  typed(name: string): string | null {
    const value = this.form.get(name)?.trim();
    return value === undefined || value === '' ? null : value;
  }

  /** The value that a field shows: the typed input if the form was rejected, otherwise the stored value. */
  valueOf(name: string, stored: string | null | undefined): string {
    return (this.isTyped ? this.form.get(name) : stored) ?? '';
  }

  /** Whether a checkbox is checked: as typed if the form was rejected, otherwise as stored. */
  isTicked(name: string, stored: boolean, value = 'true'): boolean {
    return this.isTyped ? this.form.getAll(name).includes(value) : stored;
  }

  /**
   * Ensures that no one has changed the record since its form was shown.
   *
   * @throws RpcError BAD_REQUEST if someone has. The form is shown again, and sending it again overwrites the change.
   */
  requireSame(record: { updatedAt: string | Date }): void {
    const since = this.form.get('since');
    if (since === null || since === versionOf(record)) return;
    this.hasConflict = true;
    throw new RpcError('BAD_REQUEST', this.words.changedMeanwhile);
  }

  /** The version of a record that its form is based on. */
  sinceOf(record: { updatedAt: string | Date }): string {
    return (this.hasConflict ? null : this.form.get('since')) ?? versionOf(record);
  }

  /**
   * Ensures that the person has seen a warning.
   *
   * @param what the action that the warning is about. Another action shows the warning again.
   * @throws RpcError BAD_REQUEST if they have not seen it. The form is shown again with `why`, and sending it again confirms it.
   */
  requireSure(what: string, why: string): void {
    if (this.form.get('sure') === what) return;
    this.shownWarning = what;
    throw new RpcError('BAD_REQUEST', why);
  }

  /** The action whose warning the form shows. */
  get sureOf(): string | null {
    return this.shownWarning ?? (this.isTyped ? this.form.get('sure') : null);
  }

  /** A provider of another module, for data that no operation returns. */
  find<T>(type: Type<T>): T {
    return this.options.find(type);
  }

  /**
   * Runs an operation and returns its result. A form that is sent twice is executed once.
   *
   * @param fields the operation's input: strings for queries, JSON for commands. Undefined fields are left out.
   * @throws RpcError as the operation does.
   */
  async run<Answer>(
    name: string,
    fields: Record<string, unknown> = {},
    body?: StreamedBody,
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
      // The person went back and changed the form, so it counts as a new one.
      if (!(error instanceof RpcError) || error.code !== 'IDEMPOTENCY_KEY_REUSED') throw error;
      return people.run<Answer>(name, this.person, given, { request, body, beforeAnswer });
    }
  }

  /** The record that the form created when it was sent before. @param name the first operation that the form runs */
  async madeBefore(name: string): Promise<string | undefined> {
    const mark = this.markOf(name, 1);
    return mark && (await this.find(Requests).findRecord(this.organizationId, mark));
  }

  private markOf(name: string, run: number): string | undefined {
    const once = this.form.get('once');
    return once === null ? undefined : `form ${this.person.session.userId} ${once} ${name} ${run}`;
  }

  private readonly beforeAnswer = (work: Promise<unknown>): void => {
    // If the page fails first, nothing awaits this promise.
    work.catch(() => undefined);
    this.unfinished.push(work);
  };

  /** Waits for work that must finish before the page is sent. @throws the errors of that work */
  async finished(): Promise<void> {
    await Promise.all(this.unfinished);
  }

  /** Lists the records of the page that the address names. */
  async list<Listed>(
    by: string | Lister<Listed>,
    fields: Record<string, unknown> = {},
  ): Promise<ListedPage<Listed>> {
    const cursor = this.query('cursor');
    const { records, pagination } = await this.listOnce<Listed>(by, { limit: 50, ...fields, cursor });
    return { records, next: pagination.cursor, isFirst: cursor === undefined };
  }

  /** @param by the name of an operation, or a function that lists like one. */
  listOnce<Listed>(by: string | Lister<Listed>, asked: Asked): Promise<PageOfRecords<Listed>> {
    return typeof by === 'string' ? this.run<PageOfRecords<Listed>>(by, asked) : by(this, asked);
  }

  /**
   * The form's file, which can be read once; undefined if none was chosen. Also reads the fields, which come before the file.
   *
   * @throws RpcError BAD_REQUEST if the form is not valid; RATE_LIMIT_EXCEEDED if there are too many uploads.
   */
  async upload(): Promise<Upload | undefined> {
    openStream(this.request, this.response);
    allowLongBody(this.request, this.response);
    const { fields, file } = await readUpload(this.request);
    this.form = inLines(fields);
    return file && { ...file, bytes: this.stillWith(file.bytes) };
  }

  /** Checks permissions again at the end of the file, because an upload can take any time. */
  private async *stillWith(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* bytes;
    await this.options.requireStill();
  }

  /** Result of `act` if the form only asks for a preview. */
  again(): { isShownAgain: true } {
    this.isShownAgain = true;
    return { isShownAgain: true };
  }

  /** The page, with a confirmation or errors. */
  page(options: {
    title: string;
    /** The heading, if it differs from the title. */
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
      done: refusal ? undefined : flashIn(words, this.query(FLASH)),
      refreshSeconds,
    });
  }
}

export type Asked = { limit: number; cursor: string | undefined; q?: unknown };

/** Lists records like an operation, for data that no operation returns. */
export type Lister<Listed> = (context: PageContext, asked: Asked) => Promise<PageOfRecords<Listed>>;

export type ListedPage<Listed> = {
  records: Listed[];
  /** The cursor of the next page; null if this is the last. */
  next: string | null;
  isFirst: boolean;
};

/** Converts the CRLF line breaks that browsers send to LF. */
function inLines(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams(
    [...form].map(([name, value]): [string, string] => [name, value.replace(/\r\n?/g, '\n')]),
  );
}

/** Operations run in this process return dates; JSON contains strings. */
function versionOf({ updatedAt }: { updatedAt: string | Date }): string {
  return new Date(updatedAt).toISOString();
}
