import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Id, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { postRecord, type PostRecord, postSchema } from './post-record.js';
import { post } from './post.js';

@Operation({
  method: 'GET',
  name: 'post.get-post',
  object: 'post',
  summary: 'Retrieve a post',
  answers: postSchema,
})
export class GetPost extends Input {
  @Id()
  postId!: string;

  @Timestamp({ optional: true, description: 'The post as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetPost)
export class GetPostHandler implements IQueryHandler<GetPost> {
  constructor(private readonly records: RecordReader) {}

  async execute({ organizationId, postId, asOf }: GetPost): Promise<PostRecord | PastRecord<PostRecord>> {
    const past = await this.records.past(asOf);
    const folded = await this.records.look(post, organizationId, postId, past);
    const record = postRecord(organizationId, postId, folded);
    return past ? new PastRecord(record, past) : record;
  }
}
