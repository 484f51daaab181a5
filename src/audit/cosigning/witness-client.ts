import { type SignedTree } from '#libs/sealing';
import {
  ALGORITHMS,
  cosignedBy,
  keyName,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  type VerifierKey,
  wholeNumber,
} from '#libs/verify';
import { fetchAnswer, type HttpAnswer, NotAnswered } from '../fetch-answer.js';

export type WitnessAddress = { url: string; verifierKey: string };

/** A witness's response to a checkpoint. `reason` completes a sentence. */
export type Outcome =
  | { is: 'cosigned'; line: string }
  /** The witness has seen a different history. */
  | { is: 'contradicted'; reason: string }
  /** The witness has cosigned a longer one: more was signed in the meantime, or signed history was lost. */
  | { is: 'ahead'; size: number }
  /** The witness rejects this log, but possibly no others. */
  | { is: 'refused'; reason: string }
  /** The witness did not respond, or its response is invalid. */
  | { is: 'failed'; reason: string };

/** The time limit for all requests about one checkpoint. */
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 16 * 1024;
/**
 * Someone else may submit a newer checkpoint at the same time, so the witness's size can change between two
 * requests.
 */
const MOST_REQUESTS = 4;
const LONGEST_REASON = 200;

/** Parses `<verifier key>@<url>`. @throws NotAuthentic with a sentence that names the mistake. */
export function readWitness(text: string): WitnessAddress {
  const [, verifierKey, url] = /^(\S+?)@(https?:\/\/\S+)$/.exec(text) ?? [];
  if (text.startsWith('PRIVATE+KEY+')) {
    throw new NotAuthentic(
      'This is the private key of a witness. Use the key that it prints as verifierKey.',
    );
  }
  const address = url === undefined ? null : URL.parse(url);
  if (verifierKey === undefined || address?.search !== '' || address.hash !== '') {
    throw new NotAuthentic('The key or the address is missing.');
  }
  if (address.username !== '')
    throw new NotAuthentic('The address contains a user or password, which witnesses do not use.');
  parseVerifierKey(verifierKey, ALGORITHMS.cosignature);
  return { url: address.href.replace(/\/+$/, ''), verifierKey };
}

/** Requests cosignatures from one witness (C2SP tlog-witness). Verifies everything it receives. */
export class WitnessClient {
  /** The name and id of the witness's key. */
  readonly name: string;
  private readonly key: VerifierKey;
  private readonly address: string;

  /** @param timeoutMs shorter in tests. */
  constructor(
    { url, verifierKey }: WitnessAddress,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {
    this.key = parseVerifierKey(verifierKey, ALGORITHMS.cosignature);
    this.name = keyName(this.key);
    this.address = `${url}/add-checkpoint`;
  }

  /**
   * @param known the size of the last checkpoint it is known to have cosigned. A witness with another size
   *   returns its own.
   * @param prove returns the proof that the first `size` leaves are a prefix of the checkpoint's tree.
   * @throws the errors of `prove`, and the signal's reason.
   */
  async ask(
    { note, size }: SignedTree,
    known: number,
    prove: (size: number) => Promise<Buffer[]>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const end = performance.now() + this.timeoutMs;
    for (let [requests, old] = [0, known]; requests < MOST_REQUESTS; requests += 1) {
      const proof = await prove(old);
      const body = [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', note].join('\n');
      const timeoutMs = Math.max(1, Math.ceil(end - performance.now()));
      const answer = await this.post(body, timeoutMs, signal);
      if ('is' in answer) return answer;
      if (answer.status === 422) {
        const said = messageIn(answer.body.toString('utf8'));
        return { is: 'contradicted', reason: `its checkpoint of ${old} events contradicts this one${said}` };
      }
      if (answer.status !== 409) return this.judge(answer, note);
      const has = wholeNumber(answer.body.toString('utf8').replace(/\n$/, ''));
      if (has === undefined) return failed('it returned 409 without the size of its checkpoint');
      if (has > size) return { is: 'ahead', size: has };
      if (has === old && old < size) return failed('it returned 409 with the size that it received');
      if (has === old) {
        return { is: 'contradicted', reason: `it cosigned a different history of ${size} events` };
      }
      old = has;
    }
    return failed('it kept returning 409 with different sizes');
  }

  private async post(
    body: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<HttpAnswer | { is: 'failed'; reason: string }> {
    try {
      const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
      const request = { method: 'POST', headers, body };
      return await fetchAnswer(this.address, request, { timeoutMs, mostBytes: MOST_BYTES, signal });
    } catch (error) {
      if (error instanceof NotAnswered) return failed(error.message);
      throw error;
    }
  }

  private async judge({ status, body }: HttpAnswer, note: string): Promise<Outcome> {
    const text = body.toString('utf8');
    if (status === 200) {
      const line = await this.cosignatureIn(text, note);
      return line === undefined ? failed('its cosignature is missing or invalid') : { is: 'cosigned', line };
    }
    const reason = `status ${status}${messageIn(text)}`;
    return [400, 403, 404].includes(status) ? { is: 'refused', reason } : failed(reason);
  }

  /** This witness's line, if it is a valid cosignature of the note. Lines of other witnesses are ignored. */
  private async cosignatureIn(answer: string, note: string): Promise<string | undefined> {
    const { text } = readNote(note);
    const lines = answer.split('\n').filter((line) => line.startsWith(`— ${this.key.name} `));
    for (const line of lines) {
      try {
        if (await cosignedBy(readNote(`${text}\n${line}\n`), this.key)) return `${line}\n`;
      } catch (error) {
        if (!(error instanceof NotAuthentic)) throw error;
      }
    }
    return undefined;
  }
}

function failed(reason: string): { is: 'failed'; reason: string } {
  return { is: 'failed', reason };
}

/** The witness's message without its full stop, if it is one short line. Strangers must not fill the log. */
function messageIn(body: string): string {
  const said = body.trim().replace(/\.$/, '');
  return /^[\x20-\x7e]+$/.test(said) && said.length <= LONGEST_REASON ? `: ${said}` : '';
}
