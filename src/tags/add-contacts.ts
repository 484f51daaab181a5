import { linkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'POST',
  name: 'tag.add-contacts',
  object: 'tag',
  summary: 'Give contacts a tag',
  description: 'All of them or none: an unknown one is 404 and named. Who has the tag already keeps it.',
  answers: tagSchema,
})
export class TagContacts extends Input {
  @Id()
  tagId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const TagContactsHandler = linkHandler(TagContacts, tags, ({ contactIds }) => contactIds);
