import { type CountVerdict } from './count.js';
import { type Against, type Verdict } from './verdict.js';

/** Verdicts in English. */

/** What was compared with the checkpoint. */
type Compared = 'This file' | 'The database';

/** What a positive verdict does not prove: docs/guides/verify-a-server.md explains each. */
function notProved(checkpoint: Against): string[] {
  return [
    'that nothing was rewritten before you got the checkpoint',
    'that what was recorded is true',
    'that the times are right: they are those of the server’s clock',
    othersSee(checkpoint),
    'that newer events, if any, are complete and unchanged: the checkpoint does not cover them',
    'anything outside of the history, such as the recipients of an email or the files of images',
  ];
}

function othersSee({ witnesses, register }: Against): string {
  const same = 'that everyone sees the same history';
  if (witnesses) return `${same}: only those who require the same witnesses do, if these are honest`;
  if (register) return `${same}: compare the checkpoint of the register with those that others have`;
  return `${same}: neither the register nor cosignatures of witnesses were compared`;
}

const FOREIGN = 'Nothing was compared: the checkpoint and the export belong to different organizations.';

/** Whether the export is that of another organization from its first line. */
const isForeign = ({ code, events }: Verdict) => code === 'foreign' && events === 1;

const count = (number: number) => number.toLocaleString('en');
const newer = (events: number) => `${count(events)} newer ${events === 1 ? 'event' : 'events'}`;

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
  if (ok && checkpoint) lines.push(...provedBy(checkpoint), 'Not proved:', ...listed(notProved(checkpoint)));
  return lines.map((line) => `${line}\n`).join('');
}

/** The notes that a verdict relies on, a line each. */
function provedBy(checkpoint: Against): string[] {
  const { size, sealedAt, key, givenKey, witnesses = [], inAll, register } = checkpoint;
  return [
    'Proved by:',
    ...listed([
      `the checkpoint of ${count(size)} events, which the server dates ${sealedAt}, signed with the key ${key}`,
      ...(givenKey === undefined ? [] : [`the history itself: the key ${key} replaced the key ${givenKey}`]),
      ...witnesses.map(({ witness, time }) => `the cosignature of ${witness} at ${time.toISOString()}`),
      ...(inAll === undefined ? [] : [`the log of ${count(inAll.size)} checkpoints of all organizations`]),
      ...(register === undefined
        ? []
        : [`the register of checkpoints, which the server dates ${register.sealedAt}`]),
    ]),
  ];
}

function listed(items: readonly string[]): string[] {
  return items.map((item, n) => `  ${n + 1}. ${item}`);
}

/** A sentence to quote: what was compared with what, the result, and what it does not cover. */
export function statement(verdict: Verdict, what: Compared = 'This file'): string {
  const { ok, checkpoint, newerEvents, reason, unprovedPersonal } = verdict;
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  if (isForeign(verdict)) return FOREIGN;
  const { organizationId, size, position, inAll, register } = checkpoint;
  const logged = inAll
    ? `, number ${count(inAll.index + 1)} of the ${count(inAll.size)} checkpoints of all organizations dated up to ${inAll.sealedAt}`
    : '';
  const note = `the checkpoint of ${count(size)} events, up to position ${position}, ${signedBy(checkpoint)}${logged}`;
  if (!ok) return `${what} does not match ${note} of organization ${organizationId}: ${reason}`;
  const rest =
    newerEvents === 0 ? 'it contains no newer event' : `the checkpoint does not cover ${newer(newerEvents)}`;
  const unproved =
    unprovedPersonal === 0
      ? ''
      : `; nothing proves the readable personal data of ${count(unprovedPersonal)} events written by versions up to 0.7.0`;
  const unique = register
    ? `; the register dated ${register.sealedAt} contains no other history of its first ${count(register.upTo)} events`
    : '';
  return `${what} contains all events of organization ${organizationId} that are covered by ${note}, complete, unchanged and in order; ${rest}${unproved}${unique}.`;
}

/** The same about a count certificate. */
export function countStatement({
  count: counts,
  petitionId,
  organizationId,
  reason,
  checkpoint,
}: CountVerdict): string {
  if (!counts || !checkpoint) return `The certificate proves nothing: ${reason}`;
  const { signatures, withdrawn, invalidated } = counts;
  return (
    `The history of organization ${organizationId} contains at least these signatures of petition ${petitionId}: ` +
    `${count(signatures)} that no event in the certificate ended, ${count(withdrawn)} withdrawn and ${count(invalidated)} invalidated. ` +
    `They are covered by the checkpoint of ${count(checkpoint.size)} events, ${signedBy(checkpoint)}. ` +
    'Someone who handed over the certificate can have hidden any event, so each number can be too high or too low: only the whole ' +
    'history shows every event. Nothing proves that the signers exist.'
  );
}

/** When and by whom a checkpoint was signed, for a sentence. */
export function signedBy({ sealedAt, key, givenKey, witnesses = [] }: Against): string {
  const successor = givenKey === undefined ? '' : ` (which replaced the key ${givenKey})`;
  const cosigned = witnesses
    .map(({ witness, time }) => `, cosigned by ${witness} at ${time.toISOString()}`)
    .join('');
  return `dated ${sealedAt} by the server, signed with the key ${key}${successor}${cosigned}`;
}
