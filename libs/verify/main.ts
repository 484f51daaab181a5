/**
 * advocacy-verify: verifies histories of advocacy-api without the server. One file, which the build puts together, for Node.js
 * and for browsers. It has no dependencies, opens no connections and writes no files.
 */
import { successionsOfExport } from './checkpoint.js';
import { countStatement, verifyCount } from './count.js';
import { errorIn, eventStatement, verifyEvent } from './event-proof.js';
import { wholeNumber } from './platform.js';
import { inWords, statement } from './verdict.js';
import { verifyExport } from './verify.js';

export * from './index.js';

const USAGE = `Usage: node advocacy-verify.mjs <export> --checkpoint <file> --key <key>
       node advocacy-verify.mjs count <certificate> --key <key>
       node advocacy-verify.mjs event <response of history.get-proof> --key <key>
  --checkpoint <file>  a checkpoint, which the server signed
  --key <key>          the verifier key of the server, or a file that contains it
  --parts <file>       parts of the checkpoint, which locate a difference
  --proof <file>       proof that the checkpoint is in the log of all organizations
  --register <file>    an export of the register, with its checkpoint in <file>.checkpoint
  --witness <key>      verifier key of a witness that must have cosigned the checkpoint; repeatable
  --quorum <n>         this many of the witnesses are enough
  --json               print the verdict as JSON
Prints the verdict to standard output, and a statement to quote to standard error. Exits with status 0 if the file matches the
checkpoint, and with 1 if it differs or nothing could be verified.
`;
const NO_IMAGES =
  'Image files were not read. To compare them with the history, use history verify with --images.\n';

/** Bytes. */
const LONGEST_ERROR = 65_536;

async function run(args: string[]): Promise<number> {
  const { parseArgs } = process.getBuiltinModule('node:util');
  const { createReadStream, existsSync, readFileSync, statSync } = process.getBuiltinModule('node:fs');
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ checkpoint: text, key: text, parts: text, proof: text, register: text, quorum: text },
      ...{ witness: { ...text, multiple: true }, json: { type: 'boolean' } },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const { checkpoint, key: given, register, witness = [], json } = values;
  const what = positionals.length === 2 ? positionals[0] : undefined;
  const isOther = what === 'count' || what === 'event';
  const [file, ...others] = isOther ? positionals.slice(1) : positionals;
  const quorum = values.quorum === undefined ? undefined : (wholeNumber(values.quorum) ?? NaN);
  const isPossible = quorum === undefined || (quorum >= 1 && quorum <= witness.length);
  // They would not be checked.
  const hasMore = isOther && Object.keys(values).some((name) => !['key', 'json'].includes(name));
  const isComplete = file !== undefined && given !== undefined && (isOther || checkpoint !== undefined);
  if (values.help || !isComplete || others.length > 0 || hasMore || !isPossible) {
    process.stderr.write(USAGE);
    return values.help ? 0 : 1;
  }
  const read = (name: string | undefined) => (name === undefined ? undefined : readFileSync(name, 'utf8'));
  const keyOf = (one: string) => (existsSync(one) ? readFileSync(one, 'utf8') : one);
  const chunksOf = (name: string) => () => createReadStream(name, { highWaterMark: 2 ** 20 });
  for (const name of [file, checkpoint, register]) {
    if (name === undefined || statSync(name).size > LONGEST_ERROR) continue;
    const error = errorIn(readFileSync(name, 'utf8'));
    if (error !== undefined) throw new Error(`${name} ${error}`);
  }
  const chunks = chunksOf(file);
  if (what === 'event') {
    const proved = await verifyEvent(read(file)!, keyOf(given));
    process.stdout.write(`${json ? JSON.stringify(proved) : eventStatement(proved)}\n`);
    return proved.ok ? 0 : 1;
  }
  if (what === 'count') {
    const counted = await verifyCount(chunks(), keyOf(given));
    process.stdout.write(`${json ? JSON.stringify(counted) : countStatement(counted)}\n`);
    return counted.ok ? 0 : 1;
  }
  const verdict = await verifyExport(chunks(), read(checkpoint)!, keyOf(given), {
    ...{ parts: read(values.parts), proof: read(values.proof), witnesses: witness.map(keyOf), quorum },
    ...(register !== undefined && {
      register: { chunks: chunksOf(register), checkpoint: read(`${register}.checkpoint`)! },
    }),
    successions: () => successionsOfExport(chunks()),
  });
  const words = verdict.ok ? `${inWords(verdict)}${NO_IMAGES}` : inWords(verdict);
  process.stdout.write(json ? `${JSON.stringify(verdict)}\n` : words);
  process.stderr.write(`${statement(verdict)}\n`);
  return verdict.ok ? 0 : 1;
}

/** Whether Node.js runs this file. Browsers, and programs that import it, only use its exports. */
function isProgram(): boolean {
  const { process: node } = globalThis as { process?: NodeJS.Process };
  const path = node?.getBuiltinModule === undefined ? undefined : node.argv[1];
  if (node === undefined || path === undefined) return false;
  const { realpathSync } = node.getBuiltinModule('node:fs');
  const { pathToFileURL } = node.getBuiltinModule('node:url');
  return pathToFileURL(realpathSync(path)).href === import.meta.url;
}

if (isProgram()) {
  try {
    process.exitCode = await run(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`Nothing was verified: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
