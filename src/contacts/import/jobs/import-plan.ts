import { hasScope, invalid } from '#libs/rpc';
import {
  isConsent,
  isOfOneColumn,
  isUnknownAnswer,
  type Meaning,
  recognize,
  suggestsOptOut,
} from '../columns.js';
import { type CommonFields } from '../../contact-updates.js';
import { type FieldDefinition } from '../../../fields/index.js';
import { type DecidedColumns } from '../imported-contacts.js';
import { type Look, type TableFormat } from '../table.js';

/** How a file is imported. Stored with it, so the version before and the one after read it. */
export type ImportPlan = {
  file: string;
  columns: string[];
  /** The first rows, for the preview. */
  examples: string[][];
  /** Cells that show whether the character set was guessed correctly. Undefined in rows of earlier versions. */
  beyondAscii?: string[];
  meanings: (Meaning | null)[];
  /** Columns that may state opt-outs. The preview asks about them before they are ignored. */
  suspects?: number[];
  /** Undefined in rows of earlier versions. */
  format?: TableFormat;
  /** `keep`: a contact that exists with other details keeps them, and signs. */
  onConflict: 'fail' | 'update' | 'keep';
  listId: string | null;
  /** The petition that each contact signs; undefined in imports of contacts only. */
  petitionId?: string | undefined;
  /** Whether contacts without a stated consent have agreed to receive email. Undefined if their rows must state it. */
  agreed?: boolean;
  /** The fields below are undefined in rows of earlier versions. By default, a table. */
  mediaType?: string;
  isDryRun?: boolean;
  /** Whether a row fails that has "unsubscribed" in one of the suspects. */
  checksSuspects?: boolean;
  /** Whether the chunks are compressed. */
  isCompressed?: boolean;
  /** If contacts are updated instead: the fields. The file contains a contact's id per line. */
  changes?: ContactChanges;
  /** The permissions that it needs. Without one of them, it stops. */
  scopes?: string[];
};

/** Fields of contact.update-contacts. */
export type ContactChanges = CommonFields & { [field: string]: unknown };

export function planOfUpdate(changes: ContactChanges, scopes: string[]): ImportPlan {
  const noTable = { file: '', columns: [], examples: [], meanings: [], listId: null };
  return { ...noTable, onConflict: 'update', isCompressed: true, changes, scopes };
}

/** What is chosen before a file is read. */
export type ImportChoices = Pick<ImportPlan, 'file' | 'onConflict' | 'listId' | 'petitionId'>;

/**
 * The user's decisions: the meaning of each column, undefined if left open, and whether contacts have agreed.
 */
export type Decisions = { meaningOf: (column: number) => Meaning | null | undefined; agreed: boolean };

/** A plan from what the table itself shows. The user reviews it before the import starts. */
export function planFor(
  { columns, examples, beyondAscii, format, values }: Look,
  chosen: ImportChoices,
  fields: readonly FieldDefinition[],
): ImportPlan {
  const meanings = recognize(columns, values, fields, chosen.petitionId !== undefined);
  const isStated = meanings.some(isConsent);
  const isSuspect = (column: string, n: number) =>
    isConsent(meanings[n]!) ||
    suggestsOptOut(column, values[n] ?? [], columns) ||
    (!isStated && meanings[n] === null && isUnknownAnswer(column, values[n] ?? [], columns));
  const suspects = columns.flatMap((column, n) => (isSuspect(column, n) ? [n] : []));
  return { columns, examples, beyondAscii, format, meanings, suspects, isCompressed: true, ...chosen };
}

/**
 * The plan with the user's decisions.
 *
 * @throws RpcError BAD_REQUEST with issues of `column-0` and following: no column has addresses, two columns have the same meaning,
 *   or a column that may state opt-outs is left open.
 */
export function decide(plan: ImportPlan, { meaningOf, agreed }: Decisions): ImportPlan {
  const meanings = plan.columns.map((_, n) => meaningOf(n) ?? null);
  requireIssueless(
    meanings.flatMap((meaning, n) =>
      isOfOneColumn(meaning) && meanings.indexOf(meaning) < n
        ? [{ path: `column-${n}`, message: 'is already assigned to another column' }]
        : [],
    ),
  );
  if (!meanings.includes('email'))
    throw invalid([{ path: 'column-0', message: 'or another column must be the address' }]);
  requireIssueless(
    (plan.suspects ?? [])
      .filter((n) => meaningOf(n) === undefined)
      .map((n) => ({ path: `column-${n}`, message: 'may state who gets no email' })),
  );
  return { ...plan, meanings, agreed };
}

/**
 * The permissions that an import needs, in addition to those that single rows need and the caller lacks: such rows
 * fail.
 */
export function scopesFor(plan: ImportPlan, own: readonly string[]): string[] {
  const isTable = plan.meanings.length > 0;
  const needs = [
    ['tag:write', isTable ? plan.meanings.includes('tags') : hasScope(own, 'tag:write')],
    [
      'list:write',
      plan.listId !== null || (isTable ? plan.meanings.includes('lists') : hasScope(own, 'list:write')),
    ],
    ['suppression:write', hasScope(own, 'suppression:write')],
    ['petition:write', plan.petitionId !== undefined],
  ] as const;
  return [SCOPE, ...needs.flatMap(([scope, isNeeded]) => (isNeeded ? [scope] : []))];
}

/** Of every import. */
export const SCOPE = 'contact:write';

/** Undefined for files that are not tables. */
export function columnsOf({
  meanings,
  format,
  suspects,
  checksSuspects,
}: ImportPlan): DecidedColumns | undefined {
  if (meanings.length === 0) return undefined;
  return { meanings, format, suspects: checksSuspects ? suspects : [] };
}

function requireIssueless(issues: Parameters<typeof invalid>[0]): void {
  if (issues.length > 0) throw invalid(issues);
}
