export { changedFields, Commands, writeTo, type Claim, type Decision, type Outcome } from './commands.js';
export { ReadYourWritesGuard } from './read-your-writes.guard.js';
export { CommandsModule } from './commands.module.js';
