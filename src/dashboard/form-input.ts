import { RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type Upload } from './upload.js';

/** Why a form was rejected. */
export type Refusal = {
  status: number;
  /** Errors of fields, in the language of the page. */
  faults: { field: string; text: string }[];
  /** An error that concerns the whole form. */
  text: string | undefined;
};

type Received = { fields: URLSearchParams; file: Upload | undefined };

/** The form that was sent to a page, and what its fields show. */
export class FormInput {
  /** The errors to show with the form, if it was rejected. */
  refusal: Refusal | undefined;
  /** Labels of the fields rendered so far. Errors are shown with them. */
  readonly labels = new Map<string, string>();
  /** How many records the form would change, after a dry run. */
  found: number | undefined;
  /** The page is shown again with the typed input, although there was no error. */
  private isShownAgain = false;
  private hasConflict = false;
  private shownWarning: string | undefined;
  /** The draft that the form shows. `isOutdated`: the record has been changed since it was begun. */
  restored: { savedAt: Date; isOutdated: boolean } | undefined;
  fields: URLSearchParams;

  /** @param receive reads the fields and the file of an upload. */
  constructor(
    readonly words: DashboardWords,
    fields: URLSearchParams,
    private readonly receive: () => Promise<Received>,
  ) {
    this.fields = inLines(fields);
  }

  has(name: string): boolean {
    return this.fields.has(name);
  }

  get(name: string): string | null {
    return this.fields.get(name);
  }

  getAll(name: string): string[] {
    return this.fields.getAll(name);
  }

  /** The trimmed value of a field; null if empty. */
  typed(name: string): string | null {
    const value = this.get(name)?.trim();
    return value === undefined || value === '' ? null : value;
  }

  /** Whether fields show the typed input instead of the stored values. */
  get isTyped(): boolean {
    return this.refusal !== undefined || this.isShownAgain;
  }

  /** The value that a field shows: the typed input if the form was rejected, otherwise the stored value. */
  valueOf(name: string, stored: string | null | undefined): string {
    return (this.isTyped ? this.get(name) : stored) ?? '';
  }

  /** Whether a checkbox is checked: as typed if the form was rejected, otherwise as stored. */
  isTicked(name: string, stored: boolean, value = 'true'): boolean {
    return this.isTyped ? this.getAll(name).includes(value) : stored;
  }

  /**
   * Ensures that no one has changed the record since its form was shown.
   *
   * @throws RpcError BAD_REQUEST if someone has. The form is shown again, and sending it again overwrites the change.
   */
  requireSame(record: { updatedAt: string | Date }): void {
    const since = this.get('since');
    if (since === null || since === versionOf(record)) return;
    this.hasConflict = true;
    throw new RpcError('BAD_REQUEST', this.words.changedMeanwhile);
  }

  sinceOf(record: { updatedAt: string | Date }): string {
    return (this.hasConflict ? null : this.get('since')) ?? versionOf(record);
  }

  /**
   * Ensures that the person has seen a warning.
   *
   * @param what the action that the warning is about. Another action shows the warning again.
   * @throws RpcError BAD_REQUEST if they have not seen it. The form is shown again with `why`, and sending it again confirms it.
   */
  requireSure(what: string, why: string): void {
    if (this.get('sure') === what) return;
    this.shownWarning = what;
    throw new RpcError('BAD_REQUEST', why);
  }

  /** The action whose warning the form shows. */
  get sureOf(): string | null {
    return this.shownWarning ?? (this.isTyped ? this.get('sure') : null);
  }

  /**
   * The form's file, which can be read once; undefined if none was chosen. Also reads the fields, which come before the file.
   *
   * @throws RpcError BAD_REQUEST if the form is not valid; RATE_LIMIT_EXCEEDED if there are too many uploads.
   */
  async upload(): Promise<Upload | undefined> {
    const { fields, file } = await this.receive();
    this.fields = inLines(fields);
    return file;
  }

  /** Shows a draft instead of the stored values. @param record that the form changes */
  continue(
    { fields, savedAt }: { fields: [string, string][]; savedAt: Date },
    record: { updatedAt: string | Date } | undefined,
  ): void {
    this.fields = new URLSearchParams(fields);
    this.isShownAgain = true;
    this.restored = { savedAt, isOutdated: record !== undefined && this.get('since') !== versionOf(record) };
  }

  /** Result of `act` if the form only asks for a preview. */
  again(): { isShownAgain: true } {
    this.isShownAgain = true;
    return { isShownAgain: true };
  }
}

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
