import { type SignedTree } from '#libs/sealing';
import { fetchAnswer, type HttpAnswer, NotAnswered } from '../fetch-answer.js';
import {
  ALGORITHMS,
  cosignedBy,
  keyName,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  type VerifierKey,
  wholeNumber,
} from '../verify/note.js';

/** A witness as it is configured. */
export type WitnessAddress = { url: string; verifierKey: string };

/** What a witness makes of a checkpoint; `reason`: half a sentence. */
export type Outcome =
  | { is: 'cosigned'; line: string }
  /** It has seen another history than this one. */
  | { is: 'contradicted'; reason: string }
  /** It has cosigned a longer one: more was signed meanwhile, or what was signed is gone. */
  | { is: 'ahead'; size: number }
  /** It does not cosign for this log, and may well do so for others. */
  | { is: 'refused'; reason: string }
  /** It does not answer, or nobody could believe what. */
  | { is: 'failed'; reason: string };

/** For all that is asked about one checkpoint. */
const PATIENCE_MS = 10_000;
const MOST_BYTES = 16 * 1024;
/** Somebody else may ask for a newer checkpoint at the same time, so that what it has changes between two requests. */
const MOST_REQUESTS = 4;
const LONGEST_REASON = 200;

/** Reads `<verifier key>@<url>`. @throws NotAuthentic with a sentence that says what is wrong. */
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

/** Asks one witness for cosignatures (C2SP tlog-witness). Believes nothing that it cannot verify. */
export class WitnessClient {
  /** Name and id of its key. */
  readonly name: string;
  private readonly key: VerifierKey;
  private readonly address: string;

  /** @param timeoutMs less in tests. */
  constructor(
    { url, verifierKey }: WitnessAddress,
    private readonly timeoutMs = PATIENCE_MS,
  ) {
    this.key = parseVerifierKey(verifierKey, ALGORITHMS.cosignature);
    this.name = keyName(this.key);
    this.address = `${url}/add-checkpoint`;
  }

  /**
   * @param known the size of the last checkpoint that it is known to have cosigned; it says so itself where it is another.
   * @param prove that the first leaves are the beginning of the checkpoint's tree.
   * @throws what `prove` throws, and the reason of the signal.
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
        return {
          is: 'contradicted',
          reason: `what it has cosigned, ${old} events, is not the beginning of the history that is here: one of them was forked`,
        };
      }
      if (answer.status !== 409) return this.judge(answer, note);
      const has = wholeNumber(answer.body.toString('utf8').replace(/\n$/, ''));
      if (has === undefined) return failed('it answers 409 without the size that it has');
      if (has > size) return { is: 'ahead', size: has };
      if (has === old && old < size) return failed('it answers 409 with the size that it was given');
      if (has === old) {
        return { is: 'contradicted', reason: `it has cosigned another history of ${size} events` };
      }
      old = has;
    }
    return failed('it goes on answering 409 with other sizes');
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

  private judge({ status, body }: HttpAnswer, note: string): Outcome {
    const text = body.toString('utf8');
    if (status === 200) {
      const line = this.cosignatureIn(text, note);
      return line === undefined ? failed('its cosignature is none, or false') : { is: 'cosigned', line };
    }
    const reason = `status ${status}${saidIn(text)}`;
    return [400, 403, 404].includes(status) ? { is: 'refused', reason } : failed(reason);
  }

  /** The line of this witness, if it is its cosignature of the note; lines of others are not asked for. */
  private cosignatureIn(answer: string, note: string): string | undefined {
    const { text } = readNote(note);
    const lines = answer.split('\n').filter((line) => line.startsWith(`— ${this.key.name} `));
    const isCosignature = (line: string) => {
      try {
        return cosignedBy(readNote(`${text}\n${line}\n`), this.key) !== undefined;
      } catch (error) {
        if (error instanceof NotAuthentic) return false;
        throw error;
      }
    };
    const line = lines.find(isCosignature);
    return line === undefined ? undefined : `${line}\n`;
  }
}

function failed(reason: string): { is: 'failed'; reason: string } {
  return { is: 'failed', reason };
}

/** What it says of it, where that is a sentence; strangers write into nobody's log at any length. */
function saidIn(body: string): string {
  const said = body.trim();
  return /^[\x20-\x7e]+$/.test(said) && said.length <= LONGEST_REASON ? `: ${said}` : '';
}
