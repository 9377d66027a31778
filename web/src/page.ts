// A page is one folder in pages/ whose index.tsx exports its routes. Nothing else has to know about it.
import type { ComponentType } from 'preact';
import type { Params } from './core/routes';
import { match } from './core/routes';
import type { Role } from './api/contract';

export interface PageProps {
  params: Params;
}

export interface Page {
  path: string; // "/ui/executions/:id"
  title: string;
  component: ComponentType<PageProps>;
  /** An entry of the navigation; `key` opens it after the key g. */
  nav?: { icon: string; order: number; key: string };
  /** Others do not see it. */
  role?: Role;
}

const modules = import.meta.glob<{ pages: Page[] }>('./pages/*/index.tsx', { eager: true });

export const pages: Page[] = Object.values(modules)
  .flatMap((module) => module.pages)
  .sort((a, b) => (a.nav?.order ?? 99) - (b.nav?.order ?? 99));

export function findPage(path: string): { page: Page; params: Params } | undefined {
  const wanted = path === '/ui' || path === '/ui/' ? '/' : path;
  for (const page of pages) {
    const params = match(page.path, wanted);
    if (params) return { page, params };
  }
  return undefined;
}
