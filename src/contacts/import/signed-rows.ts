import { invalid, isMoment, parseInput, Text } from '#libs/rpc';
import { folded } from './consent.js';
import { momentIn } from './evidence.js';

/** The columns of a file of signatures, in addition to those of its contacts. */
export const SIGNATURE_COLUMNS = ['signedAt', 'comment', 'source', 'status'] as const;
export type SignatureColumn = (typeof SIGNATURE_COLUMNS)[number];

/** What a row states about its signature. `signedAt`: RFC 3339; null: when it is recorded. */
export type SignedRow = { [field in 'signedAt' | 'comment' | 'source']: string | null };

class SignatureFields {
  @Text({ max: 100, optional: true, nullable: true })
  signedAt?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  comment?: string | null;

  @Text({ max: 100, optional: true, nullable: true })
  source?: string | null;

  @Text({ max: 100, optional: true, nullable: true })
  status?: string | null;
}

const words = (text: string) => text.split(',').map((word) => word.trim());
const CONFIRMED = words(
  'confirmed, valid, verified, bestatigt, gultig, confirme, confirmee, confirmada, valida',
);
const UNCONFIRMED = words(
  'unconfirmed, pending, invalid, invalidated, unverified, unbestatigt, ausstehend, ungultig, non confirme, ' +
    'non confirmee, en attente, no confirmada, pendiente',
);

/** Whether a cell states the status of a signature. Such words may also be about email. */
export function isSignatureStatus(cell: string): boolean {
  const word = folded(cell);
  return [...CONFIRMED, ...UNCONFIRMED].includes(word);
}

/**
 * Removes the signature from the fields of a row.
 *
 * @throws RpcError BAD_REQUEST
 */
export function takeSignature(fields: Record<string, unknown>): SignedRow {
  const given: Record<string, unknown> = {};
  for (const column of SIGNATURE_COLUMNS) {
    if (fields[column] !== undefined) given[column] = fields[column];
    delete fields[column];
  }
  const {
    signedAt = null,
    comment = null,
    source = null,
    status,
  } = parseInput(SignatureFields, given, 'body');
  if (status && !CONFIRMED.includes(folded(status)))
    throw refused('status', `is ${JSON.stringify(status)}: only confirmed signatures are imported`);
  return { signedAt: signedAt && pastMoment(signedAt), comment, source };
}

/** @returns null if it has just been signed. */
function pastMoment(text: string): string | null {
  const moment = isMoment(text) ? new Date(text).toISOString() : momentIn(text);
  if (moment === undefined)
    throw refused('signedAt', 'must be an unambiguous date, such as 2024-05-31 or 2024-05-31 14:30');
  if (moment < '1970') throw refused('signedAt', 'must not be before 1970');
  const since = Date.now() - Date.parse(moment);
  if (since < -CLOCK_DIFFERENCE_MS) throw refused('signedAt', 'must not be in the future');
  return since > 0 ? moment : null;
}
const CLOCK_DIFFERENCE_MS = 60_000;

function refused(path: SignatureColumn, message: string): Error {
  return invalid([{ path, message }]);
}
