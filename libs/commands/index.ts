export { Commands } from './commands.js';
export { changedFields, writeTo, type Claim, type Decision, type Outcome } from './decision.js';
export { RecordReader } from './record-reader.js';
export { Requests } from './requests.js';
export { ReadYourWritesGuard } from './read-your-writes.guard.js';
export { CommandsModule } from './commands.module.js';
