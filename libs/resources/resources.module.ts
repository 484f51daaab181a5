import { Global, Module } from '@nestjs/common';
import { ResourceCommands } from './resource-commands.js';
import { Resources } from './resources.js';

/** What reads and changes records, for all modules of the product. */
@Global()
@Module({ providers: [Resources, ResourceCommands], exports: [Resources, ResourceCommands] })
export class ResourcesModule {}
