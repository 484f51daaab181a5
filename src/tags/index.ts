export { TagsModule } from './tags.module.js';
export { CreateTag, tag, TagContacts, tags } from './tags.js';
