"""Uses Conduit, whose URL and token are the arguments, by the client that OpenAPI Generator makes of its document."""

import sys

import conduit_client
from conduit_client.models import (
    ArticleInput,
    ArticleInputEnvelope,
    CommentInput,
    CommentInputEnvelope,
    UserReplacement,
    UserReplacementEnvelope,
)

client = conduit_client.ApiClient(conduit_client.Configuration(host=sys.argv[1], access_token=sys.argv[2]))
articles = conduit_client.ArticlesApi(client)

current = conduit_client.UserApi(client).replace_user(UserReplacementEnvelope(user=UserReplacement(bio="By Python")))
assert current.user.bio == "By Python"
article = ArticleInput(title="By Python", description="D", body="B", tagList=["python"])
slug = articles.create_article(ArticleInputEnvelope(article=article)).article.slug
assert slug.startswith("by-python-")
page = articles.list_articles(tag="python", limit=5)
assert page.articles_count == 1 and page.articles[0].tag_list == ["python"]
assert articles.favorite_article(slug).article.favorites_count == 1
comments = conduit_client.ArticlesCommentsApi(client)
said = comments.create_article_comment(slug, CommentInputEnvelope(comment=CommentInput(body="Fine")))
assert said.comment.author.username == "ann"
articles.destroy_article(slug)
try:
    articles.retrieve_article(slug)
    raise AssertionError("no 404")
except conduit_client.ApiException as error:
    assert error.status == 404, error
