// Uses Conduit, whose URL and token are the arguments, by the client that OpenAPI Generator makes of its document.
package main

import (
	"strings"

	"generated/client"
)

func main() {
	api, ctx := connect()

	replacement := client.NewUserReplacement()
	replacement.SetBio("By Go")
	user := client.NewUserReplacementEnvelope(*replacement)
	current := must(api.UserAPI.ReplaceUser(ctx).UserReplacementEnvelope(*user).Execute())
	check("changed", current.User.GetBio() == "By Go")
	input := client.NewArticleInput("By Go", "D", "B")
	input.TagList = []string{"go"}
	articles := api.ArticlesAPI
	envelope := client.NewArticleInputEnvelope(*input)
	made := must(articles.CreateArticle(ctx).ArticleInputEnvelope(*envelope).Execute())
	slug := made.Article.Slug
	check("created", strings.HasPrefix(slug, "by-go-"))
	page := must(articles.ListArticles(ctx).Tag("go").Limit(5).Execute())
	check("listed", page.ArticlesCount == 1 && page.Articles[0].TagList[0] == "go")
	favorite := must(articles.FavoriteArticle(ctx, slug).Execute())
	check("favorited", favorite.Article.FavoritesCount == 1)
	comment := client.NewCommentInputEnvelope(*client.NewCommentInput("Fine"))
	said := must(api.ArticlesCommentsAPI.CreateArticleComment(ctx, slug).CommentInputEnvelope(*comment).Execute())
	check("commented", said.Comment.Author.Username == "ann")
	response, err := articles.DestroyArticle(ctx, slug).Execute()
	check("deleted", err == nil && response.StatusCode == 204)
	_, response, err = articles.RetrieveArticle(ctx, slug).Execute()
	check("absent", err != nil && response.StatusCode == 404)
}
