export { TagsModule } from './tags.module.js';
export { CreateTag, TagContacts, tags } from './tags.js';
