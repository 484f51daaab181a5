import { type Checkpoint, type InAll } from './checkpoint.js';
import { type Code, type Cosignature } from './note.js';

/** The result of a verification: docs/spec/history-format.md, "Verdict". The members of `checkpoint` depend on what was given. */
export type Verdict = {
  ok: boolean;
  events: number;
  provedEvents: number;
  newerEvents: number;
  /** Null if no event is wrong. */
  firstWrongPosition: number | null;
  /** The kind of the problem, and the problem in one or two sentences; null if there is none. */
  code: Code | null;
  reason: string | null;
  unprovedPersonal: number;
  /** The first `MOST_WARNINGS`. The position is null if no event is concerned. */
  warnings: { position: number | null; reason: string }[];
  warningCount: number;
  /** Null if it was not signed by the key. */
  checkpoint: Against | null;
};

export const MOST_WARNINGS = 20;

export type Against = Omit<Checkpoint, 'root' | 'signer' | 'parts'> & {
  witnesses?: readonly Cosignature[];
  inAll?: InAll;
  register?: Registered;
};

/** `events` and `sealedAt`: of the register. `upTo`: this many events of the organization have no second history in it. */
export type Registered = { events: number; sealedAt: string; upTo: number };

export function againstOf(checkpoint: Checkpoint): Against {
  const { organizationId, size, position, sealedAt, key, givenKey } = checkpoint;
  return { organizationId, size, position, sealedAt, key, ...(givenKey && { givenKey }) };
}

/** The verdict if nothing could be compared. */
export function unproved(code: Code | null, reason: string | null): Verdict {
  return {
    ...{ ok: false, events: 0, provedEvents: 0, newerEvents: 0, firstWrongPosition: null, code, reason },
    ...{ unprovedPersonal: 0, warnings: [], warningCount: 0, checkpoint: null },
  };
}

type Compared = 'This file' | 'The database';

/** What a positive verdict does not prove: docs/guides/verify-a-server.md explains each. */
const notProved = (checkpoint: Against) => [
  'that nothing was rewritten before you got the checkpoint',
  'that what was recorded is true',
  'that the times are right: they are those of the server’s clock',
  `that everyone sees the same history: ${othersSee(checkpoint)}`,
  'that newer events, if any, are complete and unchanged: the checkpoint does not cover them',
  'anything outside of the history, such as the recipients of an email',
];

function othersSee({ witnesses, register }: Against): string {
  if (witnesses) return 'only those who require the same witnesses do, if these are honest';
  if (register) return 'compare the checkpoint of the register with those that others have';
  return 'neither the register nor cosignatures of witnesses were compared';
}

const FOREIGN = 'Nothing was compared: the checkpoint and the export belong to different organizations.';

const isForeign = ({ code, events }: Verdict) => code === 'foreign' && events === 1;

export const count = (number: number) => number.toLocaleString('en');
const newer = (events: number) => `${count(events)} newer ${events === 1 ? 'event' : 'events'}`;
const listed = (items: readonly string[]) => items.map((item, n) => `  ${n + 1}. ${item}`);

/** A verdict in lines, each with its line feed. */
export function inWords(verdict: Verdict, what: Compared = 'This file'): string {
  const { ok, provedEvents, newerEvents, firstWrongPosition, reason, checkpoint, warnings } = verdict;
  const lines: string[] = [];
  if (ok) {
    const rest = newerEvents > 0 ? ` This checkpoint does not cover ${newer(newerEvents)}.` : '';
    lines.push(`${what} matches the checkpoint of ${count(provedEvents)} events.${rest}`);
  } else {
    if (isForeign(verdict)) lines.push(FOREIGN);
    else if (firstWrongPosition === null) lines.push('The history could not be verified.');
    else lines.push(`${what} does not match the checkpoint.`, `First wrong position: ${firstWrongPosition}`);
    lines.push(reason!);
    if (provedEvents > 0) lines.push(`The first ${count(provedEvents)} events match.`);
  }
  lines.push(...warnings.map((warning) => `Note: ${warning.reason}`));
  const others = verdict.warningCount - warnings.length;
  if (others > 0) lines.push(`${count(others)} more notes are not shown.`);
  if (ok && checkpoint) lines.push('Proved by:', ...listed(provedBy(checkpoint)));
  if (ok && checkpoint) lines.push('Not proved:', ...listed(notProved(checkpoint)));
  return lines.map((line) => `${line}\n`).join('');
}

/** The notes that a verdict relies on. */
function provedBy({ size, sealedAt, key, givenKey, witnesses = [], inAll, register }: Against): string[] {
  return [
    `the checkpoint of ${count(size)} events, which the server dates ${sealedAt}, signed with the key ${key}`,
    givenKey && `the history itself: the key ${key} replaced the key ${givenKey}`,
    ...witnesses.map(({ witness, time }) => `the cosignature of ${witness} at ${time.toISOString()}`),
    inAll && `the log of ${count(inAll.size)} checkpoints of all organizations`,
    register && `the register of checkpoints, which the server dates ${register.sealedAt}`,
  ].filter((line) => line !== undefined);
}

/** A statement to quote: what was compared with what, the result, and what it does not cover. */
export function statement(verdict: Verdict, what: Compared = 'This file'): string {
  const { ok, checkpoint, newerEvents, firstWrongPosition, reason, unprovedPersonal } = verdict;
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  if (isForeign(verdict)) return FOREIGN;
  const { organizationId, size, position, inAll, register } = checkpoint;
  const note = `the checkpoint of ${count(size)} events of organization ${organizationId}`;
  let rest = ` The checkpoint, ${signedBy(checkpoint)}, reaches position ${position}.`;
  if (inAll)
    rest += ` It is number ${count(inAll.index + 1)} of the ${count(inAll.size)} checkpoints of all organizations up to ${inAll.sealedAt}.`;
  if (!ok)
    return `${what} ${firstWrongPosition === null ? 'could not be verified against' : 'does not match'} ${note}: ${reason}${rest}`;
  if (unprovedPersonal > 0)
    rest += ` Nothing proves the readable personal data of ${count(unprovedPersonal)} events, which have no personalDigest.`;
  if (register)
    rest += ` The register dated ${register.sealedAt} contains no other history of its first ${count(register.upTo)} events.`;
  const covers =
    newerEvents === 0
      ? 'It contains no newer event.'
      : `The checkpoint does not cover ${newer(newerEvents)}.`;
  return `${what} contains all events that ${note} covers, complete, unchanged and in order. ${covers}${rest}`;
}

/** When and by whom a checkpoint was signed, as a part of a sentence. */
export function signedBy({ sealedAt, key, givenKey, witnesses = [] }: Against): string {
  const successor = givenKey === undefined ? '' : ` (which replaced the key ${givenKey})`;
  const cosigned = witnesses.map(({ witness, time }) => `, cosigned by ${witness} at ${time.toISOString()}`);
  return `dated ${sealedAt} by the server, signed with the key ${key}${successor}${cosigned.join('')}`;
}
