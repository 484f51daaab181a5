import { type CountVerdict } from './count.js';
import { type Against, type Verdict } from './verdict.js';

/** Verdicts in English. */

/** What no verdict proves: docs/guides/verify-a-server.md explains each. */
const NOT_PROVED = [
  'that what was recorded is true',
  'that the times are right, beyond the warnings: they are those of the server’s clock',
  'that everyone sees the same history, unless witnesses or the register show it',
  'that events newer than the checkpoint stay',
  'anything outside of the history, such as the recipients of an email or the files of images',
];

const count = (number: number) => number.toLocaleString('en');
const newer = (events: number) => `${count(events)} newer ${events === 1 ? 'event' : 'events'}`;

/** A verdict in lines, each with its line feed. */
export function inWords(verdict: Verdict): string {
  const { ok, provedEvents, newerEvents, firstWrongPosition, reason, checkpoint, warnings } = verdict;
  const lines: string[] = [];
  if (ok) {
    const rest = newerEvents > 0 ? ` This checkpoint does not cover ${newer(newerEvents)}.` : '';
    lines.push(
      `The history is unchanged since it was sealed: ${count(provedEvents)} events verified.${rest}`,
    );
  } else {
    if (firstWrongPosition === null) lines.push('The history could not be verified.');
    else
      lines.push('The history differs from what was sealed.', `First wrong position: ${firstWrongPosition}`);
    lines.push(reason!);
    if (provedEvents > 0) lines.push(`The first ${count(provedEvents)} events are unchanged.`);
  }
  lines.push(...warnings.map((warning) => `Note: ${warning.reason}`));
  const others = verdict.warningCount - warnings.length;
  if (others > 0) lines.push(`${count(others)} more notes are not shown.`);
  if (ok && checkpoint) lines.push(...provedBy(checkpoint), 'Not proved:', ...listed(NOT_PROVED));
  return lines.map((line) => `${line}\n`).join('');
}

/** The notes that a verdict relies on, a line each. */
function provedBy(checkpoint: Against): string[] {
  const { size, sealedAt, key, givenKey, witnesses = [], inAll, register } = checkpoint;
  return [
    'Proved by:',
    ...listed([
      `the checkpoint of ${count(size)} events, sealed at ${sealedAt} with the key ${key}`,
      ...(givenKey === undefined ? [] : [`the history itself: the key ${key} replaced the key ${givenKey}`]),
      ...witnesses.map(({ witness, time }) => `the cosignature of ${witness} at ${time.toISOString()}`),
      ...(inAll === undefined ? [] : [`the log of ${count(inAll.size)} checkpoints of all organizations`]),
      ...(register === undefined ? [] : [`the register of checkpoints sealed at ${register.sealedAt}`]),
    ]),
  ];
}

function listed(items: readonly string[]): string[] {
  return items.map((item, n) => `  ${n + 1}. ${item}`);
}

/** A sentence to quote: what was compared with what, the result, and what it does not cover. */
export function statement({ ok, checkpoint, newerEvents, reason, unprovedPersonal }: Verdict): string {
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  const { organizationId, size, position, inAll, register } = checkpoint;
  const history = `The history of organization ${organizationId}`;
  const logged = inAll
    ? `, number ${count(inAll.index + 1)} of the ${count(inAll.size)} checkpoints of all organizations up to ${inAll.sealedAt}`
    : '';
  const note = `the checkpoint of ${count(size)} events, up to position ${position}, ${signedBy(checkpoint)}${logged}`;
  if (!ok) return `${history} does not match ${note}: ${reason}`;
  const rest =
    newerEvents === 0 ? 'no event is newer' : `the checkpoint does not cover ${newer(newerEvents)}`;
  const unproved =
    unprovedPersonal === 0
      ? ''
      : `; nothing proves the readable personal data of ${count(unprovedPersonal)} events written by versions up to 0.7.0`;
  const unique = register
    ? `; the register sealed at ${register.sealedAt} contains no other history of its first ${count(register.upTo)} events`
    : '';
  return `${history} contains all events covered by ${note}, complete, unchanged and in order; ${rest}${unproved}${unique}.`;
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
    `The history of organization ${organizationId} contains ${count(signatures)} signatures of petition ${petitionId} that no event ` +
    `in the certificate ended, ${count(withdrawn)} withdrawn and ${count(invalidated)} invalidated ones, according to the checkpoint ` +
    `of ${count(checkpoint.size)} events, ${signedBy(checkpoint)}. It does not prove that the signers exist, or that the server left ` +
    'out no event that ended a signature: only the whole history does.'
  );
}

/** When and by whom a checkpoint was signed, for a sentence. */
export function signedBy({ sealedAt, key, givenKey, witnesses = [] }: Against): string {
  const successor = givenKey === undefined ? '' : `, which replaced the key ${givenKey}`;
  const cosigned = witnesses
    .map(({ witness, time }) => ` and cosigned by ${witness} at ${time.toISOString()}`)
    .join('');
  return `sealed at ${sealedAt} with the key ${key}${successor}${cosigned}`;
}
