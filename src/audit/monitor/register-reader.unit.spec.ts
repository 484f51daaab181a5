import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Checkpoint, openCheckpoint } from '#libs/verify';
import { NotAnswered } from '../fetch-answer.js';
import { type LogClient } from './log-client.js';
import { RegisterReader } from './register-reader.js';

const file = join(__dirname, '../../../docs/spec/history-format.json');
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  registers: { name: string; key: string; register: { export: string; checkpoint: string } }[];
};
const vectorOf = (start: string) => vectors.registers.find(({ name }) => name.startsWith(start))!;
const checkpointOf = ({ register, key }: ReturnType<typeof vectorOf>) =>
  openCheckpoint(register.checkpoint, key);

/** A server whose export of the register is this text. */
class Server implements Pick<LogClient, 'registerAfter'> {
  readonly asked: number[] = [];
  constructor(public text: string) {}

  registerAfter(position: number): AsyncIterable<Uint8Array> {
    this.asked.push(position);
    const lines = this.text.split(/(?<=\n)/);
    return Readable.from(
      lines.filter((line) => !(JSON.parse(line).position <= position)).map((line) => Buffer.from(line)),
    );
  }
}
const readerOf = (server: Server, now?: () => number) => new RegisterReader(server as never, now);

it.each<[string, RegExp | undefined]>([
  ['a register that covers the checkpoint in two steps', undefined],
  ['other events, and additional members', undefined],
  ['a contradiction that the register’s checkpoint does not cover', undefined],
  ['two entries after the same one', /two entries after the same one, at positions 1013 and 1016/],
  ['two contradicting entries of another organization', /registered two histories/],
  ['the same entry twice', /two entries/],
  ['an entry in upper case', /malformed entry at position 1010/],
  ['an event without entries', /malformed entry/],
  ['a changed register', /line in the export of the register has a digest that does not match/],
])('the monitor reads %s', async (name, mistake) => {
  const vector = vectorOf(name);
  const found = await readerOf(new Server(vector.register.export)).read(await checkpointOf(vector));
  if (mistake) expect(found).toMatch(mistake);
  else expect(found).toBeUndefined();
});

describe('a register that grows', () => {
  /** Three events, of which the first two do not contradict each other. */
  const vector = vectorOf('two entries after the same one');
  const covered = vectorOf('a contradiction that');
  let earlier: Checkpoint;
  let whole: Checkpoint;
  beforeAll(async () => {
    [earlier, whole] = [await checkpointOf(covered), await checkpointOf(vector)];
  });

  it('is read from where the last reading ended, an hour later', async () => {
    let hours = 0;
    const server = new Server(vector.register.export);
    const reader = readerOf(server, () => 3_600_000 * hours);
    expect(await reader.read(earlier)).toBeUndefined();
    hours = 0.9;
    expect(await reader.read(whole)).toBeUndefined();
    expect(server.asked).toEqual([0]);
    hours = 1;
    expect(await reader.read(whole)).toMatch(/two entries after the same one/);
    expect(server.asked).toEqual([0, 1013]);
  });

  it('is reported if events are missing, and not compared if the response ends early', async () => {
    const lines = vector.register.export.split(/(?<=\n)/);
    const shorter = readerOf(new Server(lines.slice(1).join('')));
    expect(await shorter.read(earlier)).toMatch(/does not match its checkpoint/);
    const server = new Server('');
    server.registerAfter = () => Readable.from([Buffer.from(lines[0]!.slice(0, -1))]);
    await expect(readerOf(server).read(earlier)).rejects.toThrow(NotAnswered);
  });
});
