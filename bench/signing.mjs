/**
 * How many signatures a second the whole product takes, over HTTP through two instances, beside its other
 * requests. Callers, instances and PostgreSQL share the machine; rounds in turn.
 */
import http from 'node:http';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { withDatabase } from './database.mjs';
import { compare } from './rounds.mjs';
import { caller, environmentOf, makeOrganization, startServer } from './servers.mjs';

const HELP = `npm run bench -- signing [options]

  --callers 16,64,256    concurrent callers, each awaits its answer before the next
  --instances 2          server processes, called in turn
  --rounds 3             rounds of each contender
  --seconds 4            of one round
  --warm-up 1            seconds at the start of each round that do not count`;

export async function run(args) {
  const { values } = parseArgs({
    args,
    options: {
      callers: { type: 'string', default: '16,64,256' },
      instances: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      'warm-up': { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const settings = { seconds: Number(values.seconds), warmUpSeconds: Number(values['warm-up']) };

  await withDatabase(async (url) => {
    const env = environmentOf(url);
    const { key } = await makeOrganization(env);
    const servers = [];
    const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
    try {
      for (let n = 0; n < Number(values.instances); n += 1) servers.push(await startServer(env));
      const call = caller(
        servers.map(({ port }) => port),
        agent,
        key,
      );
      const contenders = await contendersOf(call);
      console.log(
        `Node.js ${process.versions.node}, ${availableParallelism()} cores, ${servers.length} instances, fsync on`,
      );
      console.log(`Medians of ${values.rounds} rounds of ${values.seconds} s\n`);
      print('callers', 'request', 'a second', 'p50 ms', 'p99 ms', 'signing by contactId is');
      for (const callers of values.callers.split(',').map(Number)) {
        const results = await compare(contenders, Number(values.rounds), { ...settings, callers });
        results.forEach(({ rate, p50, p99, ratio }, index) =>
          print(
            index === 0 ? callers : '',
            contenders[index].name,
            Math.round(rate).toLocaleString('en'),
            p50.toFixed(1),
            p99.toFixed(1),
            index === 0 ? '' : `× ${ratio.toFixed(2)}`,
          ),
        );
      }
      await contenders.check();
    } finally {
      agent.destroy();
      await Promise.all(servers.map(({ stop }) => stop()));
    }
  });
}

function print(callers, request, ...columns) {
  const [rate, p50, p99, ratio] = columns;
  console.log(
    `${String(callers).padEnd(8)} ${request.padEnd(36)} ${rate.padStart(9)} ${p50.padStart(8)} ${p99.padStart(8)}  ${ratio}`,
  );
}

/** What is compared. Everybody signs the same petition, the last moment's contacts included. */
async function contendersOf(call) {
  const { petitionId } = await call('POST', 'petition.create-petition', { name: 'Save the river' });
  await call('POST', 'petition.publish-petition', { petitionId });
  const { organizationId } = await call('GET', `petition.get-petition?petitionId=${petitionId}`);
  const contactIds = [];
  let person = 0;
  let signed = 0;
  const newPerson = () => `person-${(person += 1)}@example.org`;
  const createContact = async () => {
    const body = { organizationId, email: newPerson() };
    contactIds.push((await call('POST', 'contact.create-contact', body)).contactId);
  };
  const sign = async (signer) => {
    await call('POST', 'petition.add-signature', { petitionId, ...signer });
    signed += 1;
  };
  for (let batch = 0; batch < 200; batch += 1) await Promise.all(Array.from({ length: 250 }, createContact));
  return Object.assign(
    [
      {
        name: 'add-signature, by contactId',
        operation: () =>
          sign({ contactId: contactIds.pop() ?? fail('Out of contacts: make rounds shorter.') }),
      },
      {
        name: 'add-signature, new person',
        operation: () => sign({ contact: { email: newPerson() }, comment: 'I swim there.' }),
      },
      { name: 'create-contact', operation: createContact },
      {
        name: 'POST that is refused (400)',
        operation: () => call('POST', 'petition.add-signature', { petitionId }, 400),
      },
      {
        name: 'get-petition',
        operation: () => call('GET', `petition.get-petition?petitionId=${petitionId}`),
      },
    ],
    {
      /** A figure counts only if nothing was lost on the way to it. */
      async check() {
        const { signatures } = await call('GET', `petition.get-petition?petitionId=${petitionId}`);
        if (signatures !== signed) fail(`${signed} signed, but the petition counts ${signatures}.`);
        console.log(`\n${signed.toLocaleString('en')} signed, and the petition counts as many.`);
      },
    },
  );
}

function fail(message) {
  throw new Error(message);
}
