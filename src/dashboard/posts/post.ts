import { type PageContext } from '../page-context.js';

export type PostRecord = {
  updatedAt: string;
  id: string;
  createdAt: string;
  name: string;
  title: string;
  description: string | null;
  imageId: string | null;
  image: { url: string; alt: string | null } | null;
  status: 'DRAFT' | 'PUBLISHED' | 'ARCHIVED';
  content: unknown;
  slug: string | null;
  url: string | null;
  petitionId: string | null;
  publishAt: string | null;
};

/** The post in the page's address. @throws RpcError NOT_FOUND */
export function postOf({ address, api }: PageContext): Promise<PostRecord> {
  return api.run<PostRecord>('post.get-post', { postId: address.params.post });
}
