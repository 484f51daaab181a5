export { Commands, type Claim, type Decision, type Outcome } from './commands.js';
export { CommandsModule } from './commands.module.js';
