/** npm run demo -- reset: sets the data of the embedded database aside, so that the next start creates the demo again. */
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';

if (process.argv[2] !== 'reset') fail('Usage: npm run demo -- reset');
if (existsSync('.env')) process.loadEnvFile('.env');
const { DATABASE_URL, DATA_DIR } = process.env;
if (DATABASE_URL?.trim())
  fail('The demo only exists in the embedded database. Unset DATABASE_URL to reset it.');

// An empty variable counts as missing, as for the server.
const directory = resolve(DATA_DIR?.trim() || './.data');
if (isRunning()) fail('The embedded database is running. Stop the server, and repeat the command.');
if (existsSync(directory)) {
  // Such as the images of a server with another database.
  if (!existsSync(join(directory, 'postgres')))
    fail(`${directory} contains no embedded database. Set DATA_DIR as for npm start.`);
  const aside = `${directory}-${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}`;
  renameSync(directory, aside);
  console.log(`The former data is in ${aside}. Delete it if you no longer need it.`);
}
console.log('The next npm start creates the demo.');

function isRunning() {
  const file = join(directory, 'postgres/data/postmaster.pid');
  if (!existsSync(file)) return false;
  try {
    process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
