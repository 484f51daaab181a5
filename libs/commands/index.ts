export { changedFields, Commands, writeTo, type Claim, type Decision, type Outcome } from './commands.js';
export { CommandsModule } from './commands.module.js';
