import { Global, Module } from '@nestjs/common';
import { ResourceCommands } from './resource-commands.js';
import { Resources } from './resources.js';

/** Provides reads and commands on records to all modules of the product. */
@Global()
@Module({ providers: [Resources, ResourceCommands], exports: [Resources, ResourceCommands] })
export class ResourcesModule {}
