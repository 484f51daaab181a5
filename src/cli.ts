#!/usr/bin/env node
import { basename } from 'node:path';
import { commandLine } from './cli/index.js';

/** The name it was called by. In the container image, it is a program, `advocacy`. */
const called = basename(process.argv[1]!) === 'advocacy' ? 'advocacy' : 'npm run -s cli --';

await commandLine(called).parseAsync();
