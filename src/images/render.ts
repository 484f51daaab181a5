/**
 * A program of its own, one run an image: what strangers send is decoded apart from everything else, and its memory is given
 * back. `node render.js FILE DIRECTORY` prints what was made.
 */
import { render } from './processing.js';

const [file, directory] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await render(file!, directory!)));
