import { invalid } from '#libs/rpc';
import { isConsent, isOfOneColumn, type Meaning, recognise, suggestsOptOut } from '../columns.js';
import { lookAt, type TableFormat } from '../table.js';

/** How a table is imported. Stored with it, so earlier and later versions read it. */
export type ImportPlan = {
  file: string;
  columns: string[];
  /** The first rows, for the preview. */
  examples: string[][];
  meanings: (Meaning | null)[];
  /** Columns that may state opt-outs. They are not ignored without a question. */
  suspects?: number[];
  /** Undefined in rows of earlier versions. */
  format?: TableFormat;
  onConflict: 'fail' | 'update';
  listId: string | null;
  /** Whether contacts without a stated consent have agreed to receive email. Undefined until the user answers. */
  agreed?: boolean;
};

/** A table as it was uploaded. */
export type UploadedTable = { bytes: Buffer } & Pick<ImportPlan, 'file' | 'onConflict' | 'listId'>;

/**
 * The user's decisions: the meaning of each column, undefined if left open, and whether contacts have agreed.
 */
export type Decisions = { meaningOf: (column: number) => Meaning | null | undefined; agreed: boolean };

/**
 * A plan from what the table itself shows. The user reviews it before the import starts.
 *
 * @returns also the number of lines. @throws RpcError BAD_REQUEST unless it is a table with a row below its header.
 */
export async function planFor({ bytes, file, ...chosen }: UploadedTable): Promise<[ImportPlan, number]> {
  const { columns, examples, lines, format, values } = await lookAt(bytes);
  const meanings = recognise(columns, values);
  const suspects = columns.flatMap((column, n) =>
    isConsent(meanings[n]!) || suggestsOptOut(column, values[n] ?? [], columns) ? [n] : [],
  );
  return [{ file: file.slice(-200), columns, examples, format, meanings, suspects, ...chosen }, lines];
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
        ? [{ path: `column-${n}`, message: 'is what another column is already' }]
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

function requireIssueless(issues: Parameters<typeof invalid>[0]): void {
  if (issues.length > 0) throw invalid(issues);
}
