/**
 * A separate program that runs once per image, so that uploads are decoded in isolation and their memory is
 * freed. `node render.js FILE DIRECTORY` prints the result.
 */
import { render } from './processing.js';

const [file, directory] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await render(file!, directory!)));
